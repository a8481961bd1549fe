/// Some messages of an archive.
package struct XMPPArchivePage: Hashable, Sendable {
  /// Most entries of a page.
  package static let limit = 100

  /// The messages, oldest first. Receipts and parcels are left out.
  package let messages: [XMPPMessage]
  /// The archive's name for the last entry: what follows is asked for with it. Nil if there was none.
  package let last: String?
  /// The archive's name for the first entry: what is before it is asked for with it.
  package let first: String?
  /// There is nothing more in this direction.
  package let isComplete: Bool
}

/// Where a page of an archive begins or ends.
package enum XMPPArchivePlace: Hashable, Sendable {
  /// The oldest messages.
  case beginning
  /// The newest messages.
  case end
  /// What follows the entry of this name.
  case after(String)
  /// What is before the entry of this name.
  case before(String)
}

extension XMPPConnection {
  /// What the server, or somebody, says that it understands (XEP-0030).
  package func features(of address: JID? = nil) async throws(XMPPError) -> Set<String> {
    let answer = try await ask("get", to: address ?? self.address.server) { writer, _ in
      writer.element("query", Namespace.discoInfo)
    }
    let query = answer.element?.child("query", Namespace.discoInfo)
    return Set(query?.children.filter { $0.name == "feature" }.compactMap { $0["var"] } ?? [])
  }

  /// Whether the server keeps an archive of this account's messages.
  package func hasArchive() async throws(XMPPError) -> Bool {
    do {
      if try await features(of: address.bare).contains(Namespace.archive) { return true }
    } catch .refused {
      // Some servers don't answer for the account.
    }
    return try await features().contains(Namespace.archive)
  }

  /// Asks for a page of the archive (XEP-0313), with one contact or with all.
  package func archive(
    with contact: JID? = nil, from place: XMPPArchivePlace, limit: Int = 50
  ) async throws(XMPPError) -> XMPPArchivePage {
    let limit = min(max(limit, 1), XMPPArchivePage.limit)
    if case .after(let id) = place { try XMLWriter.check(id, limit: IncomingStanza.idLimit) }
    if case .before(let id) = place { try XMLWriter.check(id, limit: IncomingStanza.idLimit) }
    let answer = try await ask("set", to: nil, collectLimit: limit) { writer, id in
      writer.begin("query", Namespace.archive, [("queryid", id)])
      writer.begin("x", Namespace.forms, [("type", "submit")])
      writer.begin("field", nil, [("var", "FORM_TYPE"), ("type", "hidden")])
      writer.element("value", text: Namespace.archive)
      writer.end()
      if let contact {
        writer.begin("field", nil, [("var", "with")])
        writer.element("value", text: contact.bare.description)
        writer.end()
      }
      writer.end()
      writer.begin("set", Namespace.resultSet)
      writer.element("max", text: String(limit))
      switch place {
      case .beginning: break
      case .end: writer.element("before")
      case .after(let id): writer.element("after", text: id)
      case .before(let id): writer.element("before", text: id)
      }
    }
    return page(answer)
  }

  private func page(_ answer: Request.Answer) -> XMPPArchivePage {
    let messages = answer.collected.flatMap { result -> [XMPPMessage] in
      guard let forwarded = result.child("forwarded", Namespace.forward),
        let message = forwarded.child("message", Namespace.client)
      else { return [] }
      let stamp = IncomingStanza.stamp(forwarded)
      let name = result["id"]?.nonEmpty(limit: IncomingStanza.idLimit)
      let events = IncomingStanza.events(message: message, account: address, stamp: stamp, archiveID: name)
      return events.compactMap { event in
        if case .message(let message) = event { message } else { nil }
      }
    }
    let end = answer.element?.child("fin", Namespace.archive)
    let set = end?.child("set", Namespace.resultSet)
    func name(_ element: String) -> String? {
      set?.child(element, Namespace.resultSet)?.text.nonEmpty(limit: IncomingStanza.idLimit)
    }
    return XMPPArchivePage(
      messages: messages, last: name("last"), first: name("first"), isComplete: end?["complete"] == "true")
  }
}

extension String {
  fileprivate func nonEmpty(limit: Int) -> String? { isEmpty || utf8.count > limit ? nil : self }
}
