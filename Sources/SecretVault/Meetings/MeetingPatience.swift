/// How long a meeting may take: a minute, and what its bytes take at the slowest line that is of use. A peer that sends or takes a byte now and then
/// holds up nobody for long.
struct MeetingPatience: Sendable {
  /// Slowest rate over Bluetooth, in bytes a second.
  private static let nearbyRate = 2 << 10

  private let environment: VaultEnvironment
  private let rate: Int
  private let began: Double
  private var byteCount = 0

  init(_ environment: VaultEnvironment, isNearby: Bool) {
    self.environment = environment
    rate = isNearby ? Self.nearbyRate : BatchFetch.minimumRate
    began = environment.monotonic()
  }

  /// So many bytes were moved, one way or the other.
  mutating func moved(_ count: Int) { byteCount += count }

  /// Throws if that took too long.
  func check() throws(LinkFailure) {
    let allowed = environment.deadlines.slowDelivery / .milliseconds(1) + Double(byteCount) / Double(rate) * 1000
    guard environment.monotonic() - began < allowed else { throw .tooSlow }
  }
}
