package import Logging
package import PeerAuth

/// What a vault gets from outside: time, waiting, a log, and a way to reach addresses.
///
/// Nothing below the command line reads a clock or sleeps by itself, so that tests and simulations run on virtual time.
package struct VaultEnvironment: Sendable {
  /// Milliseconds since 1970.
  package var now: @Sendable () -> Int64
  /// Milliseconds of a clock that never jumps, for measuring and deadlines.
  package var monotonic: @Sendable () -> Double
  /// Waits, and throws when the task is cancelled.
  package var sleep: @Sendable (Duration) async throws -> Void
  /// Where notes for operators go. Never peers' content, never secrets.
  package var log: Logger
  /// Opens a byte stream to an address.
  package var connect: @Sendable (PeerAddress) async throws(TransportError) -> any PeerTransport
  /// Opens a byte stream to the peer with this beacon key if it is near, by the adapters that a setting names; nil where that can't be.
  package var connectNearby: (@Sendable (NearbyAccess) async throws(TransportError) -> any PeerTransport)?
  /// Finds where the peer with this beacon key may be on the networks of this device; nil where nobody can look.
  package var findLocally: (@Sendable (BeaconKey) async -> [LocalPlace])?
  /// Tells the user's notification command about an event, as JSON; returns at once.
  package var notify: @Sendable (_ command: String, _ event: Notification) -> Void
  /// The battery's charge in percent; nil if there is none, or it is being charged.
  package var battery: @Sendable () -> Int? = { nil }
  /// What is unlocked just now, and where to unlock more.
  package var unlocked: any UnlockedSecrets = NothingUnlocked()
  package var deadlines = Deadlines()

  package init(
    now: @escaping @Sendable () -> Int64,
    monotonic: @escaping @Sendable () -> Double,
    sleep: @escaping @Sendable (Duration) async throws -> Void,
    log: Logger,
    connect: @escaping @Sendable (PeerAddress) async throws(TransportError) -> any PeerTransport,
    notify: @escaping @Sendable (_ command: String, _ event: Notification) -> Void = { _, _ in }
  ) {
    self.now = now
    self.monotonic = monotonic
    self.sleep = sleep
    self.log = log
    self.connect = connect
    self.notify = notify
  }

  /// How long anything may take before a peer counts as gone.
  package struct Deadlines: Sendable {
    /// Connecting and the handshake, card proof included.
    package var handshake: Duration = .seconds(8)
    /// One answer, or the next piece of a transfer.
    package var reply: Duration = .seconds(15)
    /// Before another address of the same peer is tried as well, as RFC 8305 recommends.
    package var nextAddress: Duration = .milliseconds(250)
    /// Finding a peer in the room, connecting to it, and the handshake.
    package var nearby: Duration = .seconds(40)
    /// How much later than the network the radio is tried for a peer that has addresses: by then the network has answered.
    package var headStart: Duration = .milliseconds(300)
    /// A session that says nothing, on the answering side.
    package var idle: Duration = .seconds(60)
    /// An answer to a request for a share, before holders are asked that would not be needed.
    package var firstAnswer: Duration = .milliseconds(250)
    /// Least time for a batch of pieces when another holder could take over.
    package var slowHolder: Duration = .seconds(2)
    /// Before a holder is asked again that was cut off in the middle of a recovery and can't be reached since; twice as long each time.
    package var comeback: Duration = .seconds(2)
    /// How much longer a delivery may take than its bytes would at the slowest rate that is of use.
    package var slowDelivery: Duration = .seconds(60)
    package init() {}
  }

  /// An event for the notification command.
  package struct Notification: Sendable {
    /// `share-received`, `share-released`, `refused`.
    package let event: String
    package let peer: String?
    package let secret: String?
    package let description: String?
    package let detail: String?
    /// Milliseconds since 1970.
    package let at: Int64

    /// Whether it asks the user something: it is told only once, and must not be lost among others.
    package var isQuestion: Bool {
      [AuditEvent.releaseRequested, .depositRequested, .groupInvited].contains { $0.rawValue == event }
    }
  }
}
