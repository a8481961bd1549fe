import PeerAuth

/// For peers on the same network whose cards came with a beacon key: no address need be known.
struct LocalLink: Link {
  func leads(to recipient: Recipient) -> Bool { recipient.findLocally != nil }

  func refusal(of byteCount: UInt64, to recipient: Recipient) -> LinkFailure? { nil }

  /// Tries the places where it may be, the next one when the one before has failed or takes long.
  func open(_ opening: Opening) async throws(LinkFailure) -> Conversation {
    let places = await opening.recipient.findLocally?() ?? []
    guard !places.isEmpty else {
      throw NetworkLink.noAddress(of: opening.recipient, "has no known address, and is not on this network")
    }
    let (conversation, failures) = await opening.first(
      of: places.count, pause: opening.environment.deadlines.nextAddress
    ) { (number) async throws(LinkFailure) in try await Self.dial(places[number], opening) }
    if let conversation { return conversation }
    throw failures.values.first { $0.kind == .unknownHere }
      ?? failures.max { $0.key < $1.key }?.value ?? LinkFailure(.unreachable, "unreachable")
  }

  private static func dial(_ place: LocalPlace, _ opening: Opening) async throws(LinkFailure) -> Conversation {
    do {
      let conversation = try await opening.session(
        at: place.description, within: opening.environment.deadlines.handshake
      ) { () async throws(TransportError) in try await place.connect() }
      place.reached()
      return conversation
    } catch {
      // Anybody can repeat a tag that was heard: somebody else's misbehaviour isn't the peer's.
      guard error.kind != .misbehaved else {
        throw LinkFailure(.unreachable, "unreachable: somebody else shows its tag, or its keys have changed")
      }
      throw error
    }
  }
}
