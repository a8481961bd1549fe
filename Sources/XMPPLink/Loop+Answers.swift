import XMPPRequests

// Questions whose answers have something in them.
extension Loop {
  func features(of address: JID?) async throws(XMPPError) -> [String] {
    let answer = try await ask("get", to: address ?? account.address.server) { writer, _ in
      writer.element("query", Namespace.discoInfo)
    }
    let query = answer.element?.child("query", Namespace.discoInfo)
    return query?.children.filter { $0.name == "feature" }.compactMap { $0["var"] } ?? []
  }

  func roster() async throws(XMPPError) -> [XMPPContact] {
    let answer = try await ask("get", to: nil) { writer, _ in writer.element("query", Namespace.roster) }
    // An answer without contacts would take all of them for gone.
    guard let query = answer.element?.child("query", Namespace.roster) else {
      throw .malformed("an answer without contacts")
    }
    return IncomingStanza.contacts(query)
  }

  func putAside() async throws(XMPPError) -> [String] {
    let answer = try await ask("get", to: account.address) { writer, _ in
      writer.element("query", Namespace.discoItems, [("node", Namespace.putAside)])
    }
    let items = answer.element?.child("query", Namespace.discoItems)?.children ?? []
    return items.compactMap { $0.name == "item" ? $0["node"] : nil }
  }

  func archive(
    with contact: JID?, from place: XMPPArchivePlace, limit: Int
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
      let events = IncomingStanza.events(message: message, account: account.address, stamp: stamp, archiveID: name)
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
