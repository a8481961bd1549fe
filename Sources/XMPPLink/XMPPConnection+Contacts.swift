extension XMPPConnection {
  /// The contacts that the server keeps for this account. Changes come as events from now on.
  package func roster() async throws(XMPPError) -> [XMPPContact] {
    let answer = try await ask("get", to: nil) { writer, _ in writer.element("query", Namespace.roster) }
    // An answer without contacts would take all of them for gone.
    guard let query = answer.element?.child("query", Namespace.roster) else {
      throw .malformed("an answer without contacts")
    }
    return IncomingStanza.contacts(query)
  }

  /// Adds a contact, or changes its name.
  package func setContact(_ contact: JID, name: String? = nil) async throws(XMPPError) {
    if let name { try XMLWriter.check(name, limit: XMPPContact.nameLimit) }
    _ = try await ask("set", to: nil) { writer, _ in
      writer.begin("query", Namespace.roster)
      writer.element("item", nil, [("jid", contact.bare.description), ("name", name)])
    }
  }

  /// Removes a contact, with the subscriptions in both directions.
  package func removeContact(_ contact: JID) async throws(XMPPError) {
    _ = try await ask("set", to: nil) { writer, _ in
      writer.begin("query", Namespace.roster)
      writer.element("item", nil, [("jid", contact.bare.description), ("subscription", "remove")])
    }
  }

  /// Asks for, allows, refuses or ends a subscription: who is subscribed sees whether the other is there.
  package func change(_ change: XMPPSubscriptionChange, with contact: JID) async throws(XMPPError) {
    try await send { $0.begin("presence", nil, [("type", change.rawValue), ("to", contact.bare.description)]) }
  }

  /// Says to all subscribers, or to one address, whether this account is there. What is kept for it comes from then on. Of several devices of an
  /// account servers give what comes to those with the highest priority, some to these alone.
  package func announce(
    _ state: XMPPPresence.State = .available, status: String? = nil, priority: Int8 = 0, to: JID? = nil
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
}
