import PeerAuth

/// The network, at the peer's addresses.
struct NetworkLink: Link {
  func leads(to recipient: Recipient) -> Bool { !recipient.addresses.isEmpty }

  func refusal(of byteCount: UInt64, to recipient: Recipient) -> LinkFailure? { nil }

  /// Tries the peer's addresses, the next one when the one before has failed or takes long (RFC 8305).
  func open(_ opening: Opening) async throws(LinkFailure) -> Conversation {
    let recipient = opening.recipient
    guard leads(to: recipient) else {
      throw Self.noAddress(of: recipient, "has no known address")
    }
    let (conversation, failures) = await opening.first(
      of: recipient.addresses.count, pause: opening.environment.deadlines.nextAddress
    ) { (number) async throws(LinkFailure) in try await dial(recipient.addresses[number], opening) }
    if let conversation { return conversation }
    // The last address's failure is reported, unless one says more.
    throw failures.values.first { $0.kind == .unknownHere }
      ?? failures.max { $0.key < $1.key }?.value ?? LinkFailure(.unreachable, "unreachable")
  }

  static func noAddress(of recipient: Recipient, _ reason: String) -> LinkFailure {
    LinkFailure(
      .unreachable, reason,
      hint: recipient.isPeer
        ? "ask \(recipient.name) for it and run `vault peer address \(shellQuoted(recipient.name)) HOST:PORT`"
        : "make it a peer with `vault peer accept`, and say where it is with `vault peer address`")
  }

  private func dial(_ address: PeerAddress, _ opening: Opening) async throws(LinkFailure) -> Conversation {
    guard opening.recipient.mayDial() else {
      throw LinkFailure(
        .unreachable, "was not called: too many holders of the same dealer were called within a minute",
        hint: "try again in a minute")
    }
    let environment = opening.environment
    return try await opening.session(at: address.description, within: environment.deadlines.handshake) {
      () async throws(TransportError) in try await environment.connect(address)
    }
  }
}
