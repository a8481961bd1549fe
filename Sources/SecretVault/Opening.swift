import PeerAuth

/// How a conversation comes about: by the peer's addresses, over Bluetooth, or both at once.
struct Opening: Sendable {
  let recipient: Recipient
  let identity: Identity
  let ownCard: PeerCard
  let environment: VaultEnvironment

  /// Tries the peer's addresses in turn until one leads to a session.
  func byNetwork() async throws(LinkFailure) -> Conversation {
    guard !recipient.addresses.isEmpty else {
      throw LinkFailure(
        .unreachable, "has no known address",
        hint: "ask \(recipient.name) for it and run `vault peer address \(shellQuoted(recipient.name)) HOST:PORT`")
    }
    var last = LinkFailure(.unreachable, "unreachable")
    let whole = environment.deadlines.handshake
    // One peer with many dead addresses must not hold up a command many times over.
    let patience = recipient.addresses.count == 1 ? whole : max(whole / recipient.addresses.count, whole / 4)
    for address in recipient.addresses {
      do throws(LinkFailure) {
        return try await open(at: address.description, within: patience) {
          [environment] () async throws(TransportError) in try await environment.connect(address)
        }
      } catch {
        last = error
        if error.kind == .unknownHere || Task.isCancelled { break }
      }
    }
    throw last
  }

  /// Looks for the peer in the room.
  func overBluetooth(_ nearby: NearbyAccess) async throws(LinkFailure) -> Conversation {
    guard let connect = environment.connectNearby else { throw LinkFailure(.local, "Bluetooth can't be used here") }
    return try await open(at: "Bluetooth", within: environment.deadlines.nearby, nearby) {
      () async throws(TransportError) in
      let transport: any PeerTransport
      do throws(TransportError) {
        transport = try await withDeadline(.zero, sleeper: { _ in try await off(nearby) }) {
          () async throws(TransportError) in try await connect(nearby)
        }
      } catch {
        throw nearby.isWanted() ? error : .unreachable(SwitchedTransport.reason)
      }
      return SwitchedTransport(transport) { try await off(nearby) }
    }
  }

  /// How often it is looked whether Bluetooth is still wanted.
  private static let glance = Duration.seconds(1)

  /// Returns when Bluetooth is to be used no more.
  private func off(_ nearby: NearbyAccess) async throws {
    while nearby.isWanted() { try await environment.sleep(Self.glance) }
  }

  /// Both at once. The slower one is ended, also if it leads to a session in the same moment. Who says on one way that it doesn't know this
  /// device's key says so on the other, too.
  func byBoth(_ nearby: NearbyAccess) async throws(LinkFailure) -> Conversation {
    let outcome = await withTaskGroup(of: Attempt.self) { group in
      group.addTask { await attempt(isNetwork: true) { () async throws(LinkFailure) in try await byNetwork() } }
      group.addTask {
        // A peer that answers on the network costs no radio.
        try? await environment.sleep(environment.deadlines.headStart)
        guard !Task.isCancelled else { return Attempt(isNetwork: false, result: .failure(.hungUp)) }
        return await attempt(isNetwork: false) { () async throws(LinkFailure) in try await overBluetooth(nearby) }
      }
      var first: Conversation?
      var network: LinkFailure?
      var radio: LinkFailure?
      for await attempt in group {
        switch attempt.result {
        case .success(let conversation):
          if first == nil { first = conversation } else { await conversation.close() }
          group.cancelAll()
        case .failure(let failure):
          if attempt.isNetwork { network = failure } else { radio = failure }
          if failure.kind == .unknownHere { group.cancelAll() }
        }
      }
      if let first { return Result<Conversation, LinkFailure>.success(first) }
      return .failure(Self.verdict(network, radio))
    }
    return try outcome.get()
  }

  private struct Attempt: Sendable {
    let isNetwork: Bool
    let result: Result<Conversation, LinkFailure>
  }

  private func attempt(
    isNetwork: Bool, _ open: () async throws(LinkFailure) -> Conversation
  ) async -> Attempt {
    do throws(LinkFailure) {
      return Attempt(isNetwork: isNetwork, result: .success(try await open()))
    } catch { return Attempt(isNetwork: isNetwork, result: .failure(error)) }
  }

  /// What is told when neither way leads to the peer: what it said itself, else both.
  private static func verdict(_ network: LinkFailure?, _ radio: LinkFailure?) -> LinkFailure {
    guard let network, let radio else { return network ?? radio ?? LinkFailure(.unreachable, "unreachable") }
    if radio.kind == .unknownHere { return radio }
    guard network.kind == .unreachable else { return network }
    return radio.kind == .unreachable ? network.and(radio) : radio
  }

  /// A session over a fresh byte stream, and the own greeting.
  ///
  /// Over Bluetooth, who answers isn't likely to be the peer.
  private func open(
    at place: String, within deadline: Duration, _ nearby: NearbyAccess? = nil,
    _ connect: @escaping @Sendable () async throws(TransportError) -> any PeerTransport
  ) async throws(LinkFailure) -> Conversation {
    let began = environment.monotonic()
    let session: PeerSession
    do throws(SessionError) {
      session = try await withDeadline(deadline, sleeper: environment.sleep) {
        [self] () async throws(SessionError) in
        let transport: any PeerTransport
        do throws(TransportError) { transport = try await connect() } catch {
          throw error == .timedOut ? .timedOut : .transport(error)
        }
        return try await PeerSession.dial(transport, identity: identity, peer: recipient.keys, ownCard: ownCard)
      }
    } catch {
      let failure = LinkFailure(error, peer: recipient.name)
      // Anybody can repeat a tag that was heard: who has not proved to be the peer tells nothing about it.
      guard nearby == nil || failure.kind != .misbehaved else {
        throw LinkFailure(.unreachable, "unreachable: somebody else shows its tag, or its keys have changed")
      }
      throw failure
    }
    return try await Conversation.greeted(
      session, recipient, at: place, byteLimit: nearby?.byteLimit, milliseconds: environment.monotonic() - began,
      environment)
  }
}
