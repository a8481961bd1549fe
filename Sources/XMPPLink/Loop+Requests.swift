import Sodium
package import XMPPRequests

// What is asked, as stanzas; and what the answers say.
extension Loop: XMPPCarrier {
  package func perform(_ request: XMPPRequest) async throws(XMPPError) -> XMPPReply {
    switch request {
    case .message(let text, let to, let id, let wantsReceipt):
      try await send(text, to: to, id: id, wantsReceipt: wantsReceipt)
    case .part(let part): try await send(part)
    case .acknowledge(let id, let to):
      try XMLWriter.check(id, limit: IncomingStanza.idLimit)
      try await send { writer in
        writer.begin("message", nil, [("type", "chat"), ("to", to.description), ("id", XMPPConnection.freshID())])
        writer.element("received", Namespace.receipts, [("id", id)])
        writer.element("store", Namespace.hints)
      }
    case .change(let change, let contact):
      try await send {
        $0.begin("presence", nil, [("type", change.rawValue), ("to", contact.bare.description)])
      }
    case .announce(let state, let status, let priority, let to):
      try await announce(state, status: status, priority: priority, to: to)
    case .copies: try await ask("set", to: nil) { writer, _ in writer.element("enable", Namespace.carbons) }
    case .setContact(let contact, let name):
      if let name { try XMLWriter.check(name, limit: XMPPContact.nameLimit) }
      try await ask("set", to: nil) { writer, _ in
        writer.begin("query", Namespace.roster)
        writer.element("item", nil, [("jid", contact.bare.description), ("name", name)])
      }
    case .removeContact(let contact):
      try await ask("set", to: nil) { writer, _ in
        writer.begin("query", Namespace.roster)
        writer.element("item", nil, [("jid", contact.bare.description), ("subscription", "remove")])
      }
    case .view(let name):
      try XMLWriter.check(name, limit: IncomingStanza.idLimit)
      try await ask("get", to: nil) { writer, _ in
        writer.begin("offline", Namespace.putAside)
        writer.element("item", nil, [("action", "view"), ("node", name)])
      }
    case .ping(let to):
      try await ask("get", to: to ?? account.address.server) { writer, _ in writer.element("ping", Namespace.ping) }
    case .changePassword(let password): try await change(password)
    case .features(let address): return .words(try await features(of: address))
    case .roster: return .contacts(try await roster())
    case .archive(let contact, let place, let limit):
      return .page(try await archive(with: contact, from: place, limit: limit))
    case .putAside: return .words(try await putAside())
    }
    return .done
  }

  package func progress() async -> UInt64 { currentProgress }

  package func logout() { order(.leave) }

  package func close() { breakOff() }

  /// Sends a stanza whose turn is waited for, and no answer.
  func send(_ build: (inout XMLWriter) -> Void) async throws(XMPPError) {
    var writer = XMLWriter()
    build(&writer)
    writer.endAll()
    _ = try await perform(Request(.stanza(writer.bytes)))
  }

  /// Asks and waits for the answer.
  @discardableResult
  func ask(
    _ type: String, to: JID?, collectLimit: Int = 0, _ build: (inout XMLWriter, String) -> Void
  ) async throws(XMPPError) -> Request.Answer {
    let id = XMPPConnection.freshID()
    var writer = XMLWriter()
    writer.begin("iq", nil, [("type", type), ("id", id), ("to", to?.description)])
    build(&writer, id)
    writer.endAll()
    return try await perform(Request(.stanza(writer.bytes), query: (id, to), collectLimit: collectLimit))
  }

  private func send(_ text: String, to: JID, id: String, wantsReceipt: Bool) async throws(XMPPError) {
    try XMLWriter.check(text, limit: XMPPMessage.bodyLimit)
    guard XMLWriter.byteCount(of: text) <= XMPPMessage.writtenLimit else {
      throw .invalidContent("it has too many characters that XML writes in several")
    }
    guard XMPPParcelPart.isID(id) else { throw .invalidContent("the id isn't printable ASCII") }
    try await send { writer in
      writer.begin("message", nil, [("type", "chat"), ("to", to.description), ("id", id)])
      writer.element("body", text: text)
      if wantsReceipt { writer.element("request", Namespace.receipts) }
      // Kept for who is away, whatever the server thinks of it.
      writer.element("store", Namespace.hints)
    }
  }

  private func send(_ part: XMPPOutgoingPart) async throws(XMPPError) {
    var attributes: [(String, String?)] = [("id", part.id)]
    if let carriage = part.carriage {
      attributes += [("branch", String(carriage.branch)), ("hops", String(carriage.hops))]
    }
    if part.count > 1 { attributes += [("part", String(part.number)), ("of", String(part.count))] }
    let text = Base64Text.encodePublic(part.bytes)
    try await send { writer in
      // What can't be delivered comes back under the parcel's id, whichever part it was.
      writer.begin("message", nil, [("type", "chat"), ("to", part.to.description), ("id", part.id)])
      writer.begin("parcel", Namespace.parcel, attributes)
      writer.plain(text)
      writer.end()
      if part.number == part.count - 1 { writer.element("request", Namespace.receipts) }
      // For who is away, but not for the archive.
      writer.element("store", Namespace.hints)
      writer.element("no-permanent-store", Namespace.hints)
      // No copies for other programs of either account: none knows what to do with a part of a parcel.
      writer.element("private", Namespace.carbons)
      writer.element("no-copy", Namespace.hints)
    }
  }

  private func announce(
    _ state: XMPPPresence.State, status: String?, priority: Int8, to: JID?
  ) async throws(XMPPError) {
    if let status { try XMLWriter.check(status, limit: XMPPPresence.statusLimit) }
    try await send { writer in
      let type = state == .unavailable ? "unavailable" : nil
      writer.begin("presence", nil, [("type", type), ("to", to?.description)])
      switch state {
      case .available, .unavailable: break
      case .chat, .away, .extendedAway, .doNotDisturb: writer.element("show", text: state.rawValue)
      }
      if let status { writer.element("status", text: status) }
      if priority != 0 { writer.element("priority", text: String(priority)) }
    }
  }

  private func change(_ password: Password) async throws(XMPPError) {
    let id = XMPPConnection.freshID()
    let stanza = try Registration.stanza(
      id: id, domain: account.address.domain, local: account.address.local ?? "", password)
    _ = try await perform(Request(.secret(stanza), query: (id, account.address.server)))
  }
}
