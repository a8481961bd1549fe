import Concurrency
import PeerAuth
import VaultProtocol

/// How a conversation comes about: by the peer's addresses, over Bluetooth, or both at once.
struct Opening: Sendable {
  let recipient: Recipient
  let identity: Identity
  let ownCard: PeerCard
  let environment: VaultEnvironment
  /// What this device can be asked for.
  var services = PeerServiceKind.allCases

  /// Tries the peer's addresses until one leads to a session: the next one when the one before has failed, or has taken a while, so that an
  /// address that swallows everything holds up nobody (RFC 8305).
  func byNetwork() async throws(LinkFailure) -> Conversation {
    guard !recipient.addresses.isEmpty else {
      throw LinkFailure(
        .unreachable, "has no known address",
        hint: recipient.isPeer
          ? "ask \(recipient.name) for it and run `vault peer address \(shellQuoted(recipient.name)) HOST:PORT`"
          : "make it a peer with `vault peer accept`, and say where it is with `vault peer address`")
    }
    let (conversation, failures) = await first(
      of: recipient.addresses.count, pause: environment.deadlines.nextAddress
    ) { (number) async throws(LinkFailure) in try await dial(recipient.addresses[number]) }
    if let conversation { return conversation }
    // What is told of several places is told of the last, unless one knows better.
    throw failures.values.first { $0.kind == .unknownHere }
      ?? failures.max { $0.key < $1.key }?.value ?? LinkFailure(.unreachable, "unreachable")
  }

  private func dial(_ address: PeerAddress) async throws(LinkFailure) -> Conversation {
    guard recipient.mayDial() else {
      throw LinkFailure(
        .unreachable, "was not called: too many holders of the same dealer were called within a minute",
        hint: "try again in a minute")
    }
    return try await open(at: address.description, within: environment.deadlines.handshake) {
      [environment] () async throws(TransportError) in try await environment.connect(address)
    }
  }

  private enum Event: Sendable {
    case opened(Conversation)
    case failed(Int, LinkFailure)
    case waited(Int)
  }

  /// Begins one way after the other, the next when one has failed or the last has taken `pause`, until one leads to a session; else returns why
  /// each has failed, by its number. The others are ended, also if they lead to a session in the same moment. Who says on one way that it doesn't
  /// know this device's key says so on the others, too.
  private func first(
    of count: Int, pause: Duration, _ way: @escaping @Sendable (Int) async throws(LinkFailure) -> Conversation
  ) async -> (conversation: Conversation?, failures: [Int: LinkFailure]) {
    await withTaskGroup(of: Event.self) { group in
      var (begun, isOver) = (0, false)
      var first: Conversation?
      var failures: [Int: LinkFailure] = [:]
      func begin() {
        guard begun < count, !isOver, !Task.isCancelled else { return }
        let number = begun
        begun += 1
        group.addTask {
          do throws(LinkFailure) { return .opened(try await way(number)) } catch { return .failed(number, error) }
        }
        guard begun < count else { return }
        group.addTask {
          try? await environment.sleep(pause)
          return .waited(number)
        }
      }
      begin()
      for await event in group {
        switch event {
        case .opened(let conversation):
          if first == nil { first = conversation } else { await conversation.close() }
          isOver = true
        case .failed(let number, let failure):
          failures[number] = failure
          if failure.kind == .unknownHere { isOver = true }
          begin()
        case .waited(let number):
          if number == begun - 1 { begin() }
        }
        if isOver || failures.count == begun { group.cancelAll() }
      }
      return (first, failures)
    }
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

  /// Both at once. A peer that answers on the network costs no radio: that begins a little later.
  func byBoth(_ nearby: NearbyAccess) async throws(LinkFailure) -> Conversation {
    let (conversation, failures) = await first(of: 2, pause: environment.deadlines.headStart) {
      (number) async throws(LinkFailure) in
      if number == 0 { return try await byNetwork() }
      return try await overBluetooth(nearby)
    }
    if let conversation { return conversation }
    throw Self.verdict(failures[0], failures[1])
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
      environment, services)
  }
}
