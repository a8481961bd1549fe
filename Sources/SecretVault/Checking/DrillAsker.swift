import Sodium
import Synchronization
import VaultProtocol

/// Questions of a drill to one peer: does it still hold its shares of these secrets?
struct DrillAsker: Sendable {
  /// One secret, and the own share that proves the right to ask.
  struct Question: Sendable {
    let epoch: Epoch
    let own: HeldShare
    /// Commitment to the own share.
    let evaluation: RistrettoPoint
    var header: SecretHeader { epoch.header }
    /// How many pieces of the holder's fragment are to be seen, if there are so many.
    let pieceCount: Int
    /// What this device has of the other holders' cards, to ask for newer ones.
    var cards: CardExchange?
    /// Where the holder stands, for a change of the holders.
    var joinings: JoiningExchange?
  }

  /// This device's card digest.
  let prover: Digest
  let questions: [Question]
  /// Told of each answer as it comes, with the question's place. Not called for those behind a failure of the session.
  let found: @Sendable (Int, DrillFinding) -> Void
}

/// What a drill of one holder found.
struct DrillFinding: Hashable, Sendable {
  /// The number of the share that it has proved to hold, if it has.
  let index: UInt8?
  /// Pieces of its fragment that were seen and belong to it.
  let piecesSeen: Int
  /// What it could not or would not show.
  let failure: LinkFailure?
  /// Whom it could reach itself, if it has said so.
  var reach: HolderReach?

  /// Whether it has proved its share and shown every piece that was asked for.
  var isWhole: Bool { index != nil && failure == nil }

  static func failed(_ failure: LinkFailure) -> DrillFinding {
    DrillFinding(index: nil, piecesSeen: 0, failure: failure)
  }
}

/// Numbers of pieces, drawn so that nobody can foresee them, and what having seen them says about the others.
enum PieceSample {
  /// `count` different numbers below `total`, ascending, each choice as likely as any other; all if there are no more.
  ///
  /// Floyd's algorithm: J. Bentley, R. Floyd, "Programming pearls: a sample of brilliance", Communications of the ACM 30 (9), 1987.
  static func draw(_ count: Int, of total: UInt64) throws(SodiumError) -> [UInt64] {
    guard count > 0 else { return [] }
    guard UInt64(count) < total else { return Array(0..<total) }
    var chosen: Set<UInt64> = []
    for last in (total - UInt64(count))..<total {
      let number = try uniform(upTo: last)
      chosen.insert(chosen.contains(number) ? last : number)
    }
    return chosen.sorted()
  }

  /// A number from 0 to `last`, each as likely as any other: what lies in the incomplete rest of the range is drawn again.
  private static func uniform(upTo last: UInt64) throws(SodiumError) -> UInt64 {
    guard last < .max else { return try random() }
    let range = last + 1
    let whole = UInt64.max - (UInt64.max % range + 1) % range
    while true {
      let number = try random()
      if number <= whole { return number % range }
    }
  }

  private static func random() throws(SodiumError) -> UInt64 {
    try Randomness.bytes(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// How likely at least one of `damaged` pieces out of `total` is among `seen` that are drawn at random: one minus the
  /// chance of drawing only sound ones, (sound − i) / (total − i) for the i-th.
  static func chance(ofNoticing damaged: UInt64, of total: UInt64, seeing seen: Int) -> Double {
    let seen = UInt64(max(0, seen))
    guard damaged > 0, seen > 0 else { return 0 }
    guard damaged <= total, seen <= total - damaged else { return 1 }
    var missed = 1.0
    for position in 0..<seen { missed *= Double(total - damaged - position) / Double(total - position) }
    return 1 - missed
  }
}

/// Findings of one peer, as they come in.
final class DrillFindings: Sendable {
  private let findings: Mutex<[DrillFinding?]>

  init(count: Int) { findings = Mutex([DrillFinding?](repeating: nil, count: count)) }

  func set(_ place: Int, _ finding: DrillFinding) {
    findings.withLock { if $0.indices.contains(place), $0[place] == nil { $0[place] = finding } }
  }

  /// The first place without a finding.
  var next: Int? { findings.withLock { $0.firstIndex { $0 == nil } } }

  /// All of them; those still open have failed like this.
  func all(orElse failure: LinkFailure) -> [DrillFinding] {
    findings.withLock { $0.map { $0 ?? .failed(failure) } }
  }
}
