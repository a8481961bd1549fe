/// Time as it passes over Bluetooth. Tests hand in a time of their own.
package struct BLETime: Sendable {
  /// What has passed since some moment. Never goes back.
  let passed: @Sendable () -> Duration
  /// Waits, and throws when the task is cancelled.
  let sleep: @Sendable (Duration) async throws -> Void

  /// The machine's.
  package static let machine = {
    let began = ContinuousClock.now
    return BLETime(passed: { ContinuousClock.now - began }, sleep: { try await Task.sleep(for: $0) })
  }()
}
