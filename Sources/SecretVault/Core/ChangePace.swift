/// The pause between a change and the look at it, lest whoever changes much make others look all the time.
package struct ChangePace {
  /// Where somebody waits for it.
  package static let hurried = Duration.milliseconds(20)
  /// Elsewhere, and where there was another change within the last second.
  package static let (usual, steady) = (Duration.milliseconds(80), Duration.milliseconds(900))

  private var changedAt = -Double.infinity
  private var isSteady = false

  /// The pause for a change that is noticed at a time in milliseconds. One commit is noticed several times, by several loops.
  mutating func pause(at now: Double) -> Duration {
    if now - changedAt >= Self.usual / .milliseconds(1) {
      isSteady = now - changedAt < 1000
      changedAt = now
    }
    return isSteady ? Self.steady : Self.usual
  }
}
