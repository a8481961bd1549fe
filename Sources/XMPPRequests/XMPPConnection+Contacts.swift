extension XMPPConnection {
  /// The contacts that the server keeps for this account. Changes come as events from now on.
  package func roster() async throws(XMPPError) -> [XMPPContact] {
    guard case .contacts(let contacts) = try await carrier.perform(.roster) else { throw .malformed("another answer") }
    return contacts
  }

  package func setContact(_ contact: JID, name: String? = nil) async throws(XMPPError) {
    try Self.check(name, limit: XMPPContact.nameLimit)
    try await ask(.setContact(contact, name: name))
  }

  /// Removes a contact, with the subscriptions in both directions.
  package func removeContact(_ contact: JID) async throws(XMPPError) { try await ask(.removeContact(contact)) }

  /// Asks for, allows, refuses or ends a subscription: who is subscribed sees whether the other is there.
  package func change(_ change: XMPPSubscriptionChange, with contact: JID) async throws(XMPPError) {
    try await ask(.change(change, with: contact))
  }

  /// Says to all subscribers, or to one address, whether this account is there. What is kept for it comes from then on.
  /// Of several devices of an account servers prefer those with the highest priority, some give to no others.
  package func announce(
    _ state: XMPPPresence.State = .available, status: String? = nil, priority: Int8 = 0, to: JID? = nil
  ) async throws(XMPPError) {
    try Self.check(status, limit: XMPPPresence.statusLimit)
    try await ask(.announce(state, status: status, priority: priority, to: to))
  }
}
