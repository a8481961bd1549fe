/// How long something that moves bytes may take: a minute, and what its bytes take at the slowest rate that is of use. So a peer that moves a byte
/// now and then holds up nobody for long.
struct SlowLine: Sendable {
  /// Bytes a second below which a line is of no use.
  static let minimumRate = 32 << 10

  private let environment: VaultEnvironment
  private let rate: Int
  private let began: Double
  private var byteCount = 0

  init(_ environment: VaultEnvironment, rate: Int = minimumRate) {
    self.environment = environment
    self.rate = rate
    began = environment.monotonic()
  }

  /// Milliseconds since it began.
  var elapsed: Double { environment.monotonic() - began }

  /// In either direction.
  mutating func moved(_ count: Int) { byteCount += count }

  /// Throws if that took too long.
  func check() throws(LinkFailure) {
    let allowed = environment.deadlines.slowDelivery / .milliseconds(1) + Double(byteCount) / Double(rate) * 1000
    guard elapsed < allowed else { throw .tooSlow }
  }
}
