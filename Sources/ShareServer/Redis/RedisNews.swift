import Concurrency
import Glibc
import Synchronization

/// Hears from Redis what all services that share it have taken, for those who wait here. When it couldn't listen for a
/// while it wakes all of them, so that they look themselves.
final class RedisNews: Sendable {
  private let locator: RedisLocator
  private let channel: [UInt8]
  private let board: WaitingBoard
  private let isClosed = Mutex(false)

  /// Milliseconds after which it is asked whether the primary is still the same.
  private static let tick: Int32 = 1000
  /// Such times until the connection counts as dead.
  private static let patience = 5

  init(_ locator: RedisLocator, channel: [UInt8], board: WaitingBoard) throws(ServerError) {
    self.locator = locator
    self.channel = channel
    self.board = board
    guard BackgroundThread.start({ [self] in run() }) else { throw ServerError("the system has no thread left") }
  }

  func close() { isClosed.withLock { $0 = true } }

  private func run() {
    while !isClosed.withLock({ $0 }) {
      do throws(RedisFault) { try listen() } catch { usleep(200_000) }
    }
  }

  private func listen() throws(RedisFault) {
    let (connection, generation) = try locator.connect()
    try connection.call(["SUBSCRIBE", .bytes(channel)])
    board.wakeAll()
    var silence = 0
    var lastLook = ContinuousClock.now
    while !isClosed.withLock({ $0 }) {
      // Also while there is news: it may all come from a primary that is none any more.
      if ContinuousClock.now - lastLook >= .milliseconds(Self.tick) {
        lastLook = .now
        locator.lookAgain()
      }
      guard generation == locator.generation else { throw .ended }
      do throws(RedisFault) {
        let reply = try connection.receive(within: Self.tick).value
        silence = 0
        if try reply.count == 3, try reply[0].text == "message", let news = News(try reply[2].bytes) {
          board.wake([news])
        }
      } catch .late {
        silence += 1
        guard silence < Self.patience else { throw .late }
        try connection.send(["PING"])
      }
    }
  }
}

extension News {
  /// As the scripts announce it: the group, and `e` for an end or `s`, the sender's seat and the recipients' seats or
  /// `*`.
  fileprivate init?(_ message: [UInt8]) {
    guard message.count > 16, let group = Identifier(bytes: message.prefix(16)) else { return nil }
    let number = RedisStore.number(group)
    let rest = Array(message.dropFirst(17))
    switch message[16] {
    case UInt8(ascii: "e"): self.init(group: number, reason: .ended)
    case UInt8(ascii: "s"):
      guard rest.count > 4 else { return nil }
      let sender = rest.prefix(4).reduce(0) { $0 << 8 | Int64($1) }
      let recipients = Array(rest.dropFirst(4))
      let isForAll = recipients == [UInt8(ascii: "*")]
      self.init(group: number, reason: .share(sender: sender, recipients: isForAll ? nil : Seats(bytes: recipients)))
    default: return nil
    }
  }
}
