import Testing

@testable import XMPPLink
@testable import XMPPRequests

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

  private func element(
    _ name: String, _ namespace: String = Namespace.client, _ attributes: [String: String] = [:], text: String = "",
    _ children: [XMLElement] = []
  ) -> XMLElement {
    XMLElement(name: name, namespace: namespace, attributes: attributes, children: children, text: text)
  }

  private func said(_ children: [XMLElement]) throws -> XMPPMessage? {
    let stanza = element("message", Namespace.client, ["from": "bob@example.net/1", "type": "chat"], children)
    guard
      case .message(let message)? = IncomingStanza.events(message: stanza, account: try JID("ada@example.org")).first
    else { return nil }
    return message
  }

  @Test func `a subject comes with its text, and without one`() throws {
    let subject = element("subject", text: "the bridge")
    let both = try #require(try said([subject, element("body", text: "at eight")]))
    #expect(both.subject == "the bridge" && both.body == "at eight" && both.missing == 0)
    let alone = try #require(try said([subject]))
    #expect(alone.subject == "the bridge" && alone.body.isEmpty)
    #expect(try said([element("subject")]) == nil)
  }

  @Test func `words that were put aside wait for the archive or the next login`() throws {
    #expect(try said([element("offline", Namespace.putAside), element("body", text: "at eight")]) == nil)
  }

  @Test
  func `a text of more than 64 KiB comes whole, and of one that is too long the beginning, and how much is missing`()
    throws
  {
    let long = String(repeating: "ü", count: 100_000)
    #expect(try said([element("body", text: long)])?.body == long)
    let limit = XMPPMessage.takenLimit
    let cut = try #require(try said([element("body", text: "x" + String(repeating: "ü", count: limit / 2 + 10))]))
    #expect(cut.body.utf8.count == limit - 1 && cut.missing == 22, "\(cut.body.utf8.count), \(cut.missing)")
    let subject = try #require(try said([element("subject", text: String(repeating: "s", count: 5000))]))
    #expect(
      subject.subject?.utf8.count == XMPPMessage.subjectLimit && subject.missing == 5000 - XMPPMessage.subjectLimit)
  }

  @Test func `a copy of what another program of the account says is believed of the account's own server alone`() throws
  {
    func events(_ word: String, by: String?, from: String, _ more: [XMLElement] = []) throws -> [XMPPEvent] {
      let inner = element(
        "message", Namespace.client, ["from": from, "to": "bob@example.net", "type": "chat"],
        [element("body", text: "hello")] + more)
      let copy = element(word, Namespace.carbons, [:], [element("forwarded", Namespace.forward, [:], [inner])])
      var stanza = element("message", Namespace.client, ["type": "chat"], [copy, element("body", text: "outside")])
      stanza.attributes["from"] = by
      return IncomingStanza.events(message: stanza, account: try JID("ada@example.org/2"))
    }
    func texts(_ events: [XMPPEvent]) -> [String] {
      events.compactMap { event in
        switch event {
        case .message(let message): "said: " + message.body
        case .copy(let message): message.from.description + ": " + message.body
        default: nil
        }
      }
    }
    let mine = "ada@example.org/other"
    #expect(texts(try events("sent", by: "ada@example.org", from: mine)) == [mine + ": hello"])
    #expect(texts(try events("sent", by: nil, from: mine)) == [mine + ": hello"])
    #expect(texts(try events("received", by: nil, from: "bob@example.net/1")) == ["bob@example.net/1: hello"])
    for by in ["bob@example.net", "bob@example.net/1", "example.org", "ada@example.org/other"] {
      #expect(texts(try events("sent", by: by, from: mine)) == [], "\(by)")
    }
    // Nor what others would have said, and no copy in a copy.
    #expect(texts(try events("sent", by: nil, from: "bob@example.net/1")) == [])
    #expect(texts(try events("received", by: nil, from: mine)) == [])
    #expect(texts(try events("sent", by: nil, from: mine, [element("sent", Namespace.carbons)])) == [])
    // A parcel in a copy is none.
    let parcel = element("parcel", Namespace.parcel, ["id": "1"], text: "YQ==")
    #expect(try events("sent", by: nil, from: mine, [parcel]).isEmpty)
  }
}
