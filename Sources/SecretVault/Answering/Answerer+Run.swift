import Concurrency
import PeerAuth
import Sodium
import VaultProtocol
import VaultStore

extension Answerer {
  enum Ending: Hashable, Sendable {
    /// All was heard.
    case goodbye
    /// The peer has broken a rule.
    case fault
    /// Something came between, here or on the way.
    case interrupted
  }

  /// Answers until the peer says goodbye, is silent for too long, breaks a rule, or is no longer trusted.
  @discardableResult
  mutating func run() async -> Ending {
    let log = room.environment.log
    let name = peer.name
    let what = parcelEnd == nil ? "session" : "parcel"
    var ending = Ending.interrupted
    do {
      while let request = try await next() {
        // Trust is checked at each request: removing a peer ends its sessions.
        guard isStillKnown() else {
          log.info("\(name) is no longer trusted; its \(what) ends")
          break
        }
        try await carryOut(exchanges.receive(request))
        // Requests that are there already would be answered without a pause: others have their turn after each.
        await Task.yield()
      }
    } catch let error as ProtocolError {
      ending = .fault
      if room.core.mayWrite(of: peer) { log.warning("\(name) \(VaultCore.words(error)); its \(what) ends") }
    } catch SessionError.timedOut {
      log.debug("\(name) was silent for too long")
    } catch is AwaitsUser {
      log.debug("a parcel of \(name) waits for this device's user")
    } catch {
      if case SessionError.malformed = error { ending = .fault }
      if case SessionError.messageTooLarge = error { ending = .fault }
      if room.core.mayWrite(of: peer) { log.info("\(name) \(VaultCore.words(error)); its \(what) ends") }
    }
    abandonDeposit()
    abandonItem()
    await meetings.note?.end(ending == .fault ? .refused : .brokenOff)
    let isOver = hasHeardGoodbye
    try? await withDeadline(isOver ? room.environment.deadlines.idle : .seconds(2), sleeper: room.environment.sleep) {
      [channel] () async throws(SessionError) in
      if isOver { await channel.closeBehindPeer() } else { await channel.close() }
    }
    return isOver ? .goodbye : ending
  }

  private mutating func next() async throws -> Exchanges.Request? {
    let channel = channel
    let isPeer = peer.introducer == nil
    let received = try await withDeadline(room.environment.deadlines.idle, sleeper: room.environment.sleep) {
      () async throws(SessionError) in
      try await channel.receive { MessageType.byteLimit($0, isPeer: isPeer) }
    }
    guard !received.isGoodbye else {
      hasHeardGoodbye = true
      return nil
    }
    return try Exchanges.Request(number: received.type, body: received.body.bytes, isPeer: isPeer)
  }

  private mutating func carryOut(_ step: Exchanges.Step) async throws {
    switch step {
    case .greet(let hello):
      greeting = hello
      try await reply(
        Hello(services: peer.introducer == nil ? room.introductions.services : Introductions.introducedServices))
    case .pong(let pong): try await reply(pong)
    case .deposit(let step): try await carryOut(step)
    case .release(let step): try await carryOut(step)
    case .drill(let step): try await carryOut(step)
    case .introduction(let request): try await carryOut(request)
    case .lifecycle(let step): try await carryOut(step)
    case .item(let request): try await carryOut(request)
    case .groupLetter(let letter): try await carryOut(letter)
    case .meeting(let message): try await carryOut(message)
    case .unsupported(let number): try await reply(Unsupported(requestType: number))
    }
  }
}
