import Concurrency
import Foundation
import Testing

@testable import SecretVault

/// What befalls secrets that change hands, drawn by lot: VAULT_CRASH_SEED=… repeats a history, VAULT_SOAK=1 plays a thousand, VAULT_HISTORIES=… so many.
@Suite struct HistoryTests {
  private static let variables = ProcessInfo.processInfo.environment
  private static let seed = variables["VAULT_CRASH_SEED"].flatMap { UInt64($0) }
  private static let count =
    seed != nil ? 1 : variables["VAULT_HISTORIES"].flatMap { Int($0) } ?? (variables["VAULT_SOAK"] == "1" ? 1000 : 10)

  @Test func `whatever happens, enough honest holders recover the secret, and nobody erases a share without a yes`()
    async throws
  {
    let start = Self.seed ?? UInt64.random(in: 1...UInt64(UInt32.max))
    let played = await limitedConcurrency(Array(0..<Self.count), limit: 3) {
      number -> (changes: Int, erased: Int, regained: Int) in
      let seed = start + UInt64(number)
      do {
        let history = try await History(seed: seed)
        try await history.play(14)
        return (history.ledger.changes, history.ledger.erased, history.regained)
      } catch {
        Issue.record(error, "history \(seed)")
        return (0, 0, 0)
      }
    }
    let (changes, erased, regained) = played.reduce((0, 0, 0)) {
      ($0.0 + $1.changes, $0.1 + $1.erased, $0.2 + $1.regained)
    }
    print(
      "\(Self.count) histories from \(start) on: \(changes) changes of holders, \(erased) shares erased, \(regained) new devices in lost ones' places"
    )
    #expect(Self.count < 100 || regained > 0)
    #expect(Self.count < 10 || (changes > Self.count / 2 && erased > Self.count / 2))
  }
}

/// A generator whose numbers follow from its seed (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014).
struct SplitMix: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
