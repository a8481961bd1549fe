import Concurrency
import PeerAuth
import VaultProtocol

/// How a conversation comes about: by one link, or by several at once.
struct Opening: Sendable {
  let recipient: Recipient
  let identity: Identity
  let ownCard: PeerCard
  let environment: VaultEnvironment
  /// What this device can be asked for.
  var services = PeerServiceKind.allCases

  /// Opens a session by all suitable links at the same time, and greets; the first session counts. `byteCount` is what it is to move.
  func conversation(for byteCount: UInt64) async throws(LinkFailure) -> Conversation {
    // Refused before anything is sent; another link may carry it.
    var (links, refusals): ([any Link], [LinkFailure]) = ([], [])
    for link in [any Link].all where link.leads(to: recipient) {
      guard let refusal = link.refusal(of: byteCount, to: recipient) else {
        links.append(link)
        continue
      }
      refusals.append(refusal)
    }
    if links.isEmpty, let refusal = refusals.first { throw refusal }
    do { return try await conversation(by: links.isEmpty ? [NetworkLink()] : links) } catch {
      guard error.kind == .unreachable else { throw error }
      throw refusals.reduce(error) { $0.and($1) }
    }
  }

  private func conversation(by links: [any Link]) async throws(LinkFailure) -> Conversation {
    if links.count == 1 { return try await links[0].open(self) }
    let (conversation, failures) = await first(of: links.count, pause: environment.deadlines.headStart) {
      (number) async throws(LinkFailure) in try await links[number].open(self)
    }
    if let conversation { return conversation }
    // When none leads to the peer: what it said itself, else what is known of each. Most peers aren't on the same network, of which nothing need
    // be said where there is something else to say.
    let order = failures.sorted { $0.key < $1.key }
    let others = order.filter { !(links[$0.key] is LocalLink && $0.value.kind == .unreachable) }
    let told = (others.isEmpty ? order : others).map(\.value)
    if let word = told.first(where: { $0.kind == .unknownHere }) ?? told.first(where: { $0.kind != .unreachable }) {
      throw word
    }
    guard let first = told.first else { throw LinkFailure(.unreachable, "unreachable") }
    throw told.dropFirst().reduce(first) { $0.and($1) }
  }

  private enum Event: Sendable {
    case opened(Conversation)
    case failed(Int, LinkFailure)
    case waited(Int)
  }

  /// Begins one way after the other, the next when one has failed or the last has taken `pause`, until one leads to a session; else returns why
  /// each has failed, by its number. The others are ended, even if they lead to a session in the same moment. A peer that doesn't know this
  /// device's key says so once for all ways.
  func first(
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

  /// A session over a fresh byte stream, and the own greeting.
  func session(
    at place: String, within deadline: Duration, _ byteLimit: UInt64? = nil,
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
    } catch { throw LinkFailure(error, peer: recipient.name) }
    return try await Conversation.greeted(
      session, recipient, at: place, byteLimit: byteLimit, milliseconds: environment.monotonic() - began, environment,
      services)
  }
}
