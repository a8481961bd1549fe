import Foundation

/// What a group has of the world: a clock, waiting, chance for jitter, and somebody to tell. Tests hand in a time of their own.
package struct GrouperEnvironment: Sendable {
  /// Milliseconds since 1970.
  package var now: @Sendable () -> UInt64
  /// Waits so many milliseconds.
  package var sleep: @Sendable (UInt64) async throws -> Void
  /// A number between 0 and 1. For jitter only: nothing secret depends on it.
  package var jitter: @Sendable () -> Double
  /// Is told what happens. Must not block.
  package var tell: @Sendable (GrouperEvent) -> Void
  /// Whether there is room on the disk for what others send. Without, nothing is taken from servers.
  package var hasRoom: @Sendable () -> Bool = { true }

  package init(
    now: @escaping @Sendable () -> UInt64, sleep: @escaping @Sendable (UInt64) async throws -> Void,
    jitter: @escaping @Sendable () -> Double, tell: @escaping @Sendable (GrouperEvent) -> Void = { _ in }
  ) {
    self.now = now
    self.sleep = sleep
    self.jitter = jitter
    self.tell = tell
  }

  /// The machine's clock.
  package static func system(tell: @escaping @Sendable (GrouperEvent) -> Void = { _ in }) -> GrouperEnvironment {
    GrouperEnvironment(
      now: { UInt64(max(0, Date().timeIntervalSince1970 * 1000)) },
      sleep: { try await Task.sleep(for: .milliseconds(Int64(clamping: $0))) },
      jitter: { Double.random(in: 0...1) }, tell: tell)
  }
}

/// What may be worth a line in a log. Carries no content and no keys.
public enum GrouperEvent: Hashable, Sendable {
  /// A server doesn't answer, refuses, or contradicts itself.
  case serverFailed(address: String, GroupServerError)
  /// A server, or who has sent it there, has damaged or forged a share. The message came from the others, or will.
  case damagedShare(address: String, reason: String)
  /// A message was put together and is refused: somebody who has the group's key made something wrong.
  case refusedMessage(reason: String)
  /// The application didn't take a change; it will be handed over again.
  case pluginFailed(className: String, objectID: String, reason: String)
  /// The group has changed: members, keys or servers.
  case groupChanged(serial: UInt64, epoch: UInt32)
  /// The database was put back from a copy: this device counts its messages anew, and asks for what came in between.
  case putBack
  /// What is kept can't be read or written.
  case storeFailed(reason: String)
}
