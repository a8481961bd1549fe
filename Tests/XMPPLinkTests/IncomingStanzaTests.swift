import Testing

@testable import XMPPLink

@Suite struct IncomingStanzaTests {
  private func message(_ names: [(by: String, id: String)]) throws -> XMPPMessage? {
    var body = XMLElement(name: "body", namespace: Namespace.client)
    body.text = "hello"
    let children = names.map { name in
      XMLElement(name: "stanza-id", namespace: Namespace.stanzaID, attributes: ["by": name.by, "id": name.id])
    }
    let stanza = XMLElement(
      name: "message", namespace: Namespace.client,
      attributes: ["from": "bob@example.net/1", "to": "ada@example.org", "type": "chat"], children: children + [body])
    let events = IncomingStanza.events(message: stanza, account: try JID("ada@example.org/2"))
    return events.lazy.compactMap { event -> XMPPMessage? in
      if case .message(let message) = event { message } else { nil }
    }.first
  }

  @Test func `a message's name in the archive is what the account's own server says, and nobody else`() throws {
    #expect(try message([])?.archiveID == nil)
    #expect(try message([("bob@example.net", "theirs"), ("example.org", "its")])?.archiveID == nil)
    #expect(try message([("bob@example.net", "theirs"), ("Ada@example.org", "ours")])?.archiveID == "ours")
    #expect(try message([("ada@example.org", String(repeating: "x", count: 257))])?.archiveID == nil)
  }
}
