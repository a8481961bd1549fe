package import VaultProtocol

/// How one holder did in a drill.
package struct HolderCheck: Hashable, Sendable {
  package enum State: String, Hashable, Sendable, CaseIterable {
    /// It has proved its share and shown every piece of its fragment that was asked for.
    case answered
    /// Its share or its fragment is damaged.
    case damaged
    /// It could not be reached, or the connection was cut.
    case unreachable
    /// It said no, or does not know this device.
    case refused
    /// It holds no share of this secret for this device.
    case unknown
    /// Its share has not been delivered yet.
    case undelivered
    /// It is no peer of this device any more.
    case removed
  }
  /// The peer's local name; nil for this device.
  package let peer: String?
  package let index: Int?
  package let state: State
  package let hasProvedShare: Bool
  package let piecesSeen: Int
  /// Why, in words that follow its name.
  package let reason: String?
  /// How many holders besides itself and this device it says that it can call on: at least and at most.
  package var othersInReach: ClosedRange<Int>?
  /// Whether this device knows no way to call on it.
  package var listensNowhere = false
  /// Nil if its program doesn't say.
  package var reach: HolderReach?
}

/// What a drill of one secret found.
package struct CheckReport: Sendable {
  package let secret: SecretSummary
  /// Milliseconds since 1970.
  package let checkedAt: Int64
  /// This device's own share and fragment; nil where it has none, and then nobody was asked.
  package let own: HolderCheck?
  /// Those that hold a share, as far as this device knows, and whoever else has answered.
  package let holders: [HolderCheck]
  /// Peers that may hold a share, for all that this device knows, and could not be asked.
  package let possible: [HolderCheck]
  /// Peers that were asked and hold nothing of it.
  package let others: Int
  /// Fragments that make up the file: as many as the threshold that it was dealt with, which a change may have raised.
  package let fragmentsNeeded: Int
  /// Pieces of one fragment.
  package let pieceCount: UInt64
  /// Why nobody could be asked.
  package let problem: VaultError?
  /// Whether holders may be unknown here because this device's setting for introductions is off.
  package var areIntroductionsOff = false
  /// What has come of a repair, where one was wanted.
  package var repair: Repair?

  /// Holders, this device included, that have proved their share and shown their pieces.
  package var answered: Int { all.count { $0.state == .answered } }
  /// Holders, this device included, that have proved their share, whatever their fragments are like.
  package var proved: Int { all.count { $0.hasProvedShare } }
  /// Whether enough key shares and enough fragments are there.
  package var isRecoverable: Bool {
    own?.hasProvedShare == true && proved >= secret.threshold && answered >= fragmentsNeeded
  }
  /// Whether another holder could bring it back with this device gone, by what those that answered say of whom they know and could call; nil if
  /// they don't say enough.
  ///
  /// A holder gives its share only to whom it knows: one that doesn't say that it knows everybody isn't counted on.
  package var isRecoverableElsewhere: Bool? {
    let others = secret.shareCount - (own == nil ? 0 : 1)
    guard others >= secret.threshold else { return false }
    let answered = holders.filter { $0.state == .answered }
    // This device is one of those that they know.
    func knowsAll(_ holder: HolderCheck) -> Bool { holder.reach.map { Int($0.known) >= others } ?? false }
    let doubtful = others - answered.count(where: knowsAll)
    for holder in answered {
      guard let inReach = holder.othersInReach else { continue }
      let certain = min(inReach.lowerBound, others - 1) - (doubtful - (knowsAll(holder) ? 0 : 1))
      if 1 + certain >= secret.threshold { return true }
    }
    let isPossible = answered.contains { holder in
      holder.othersInReach.map { 1 + min($0.upperBound, others - 1) >= secret.threshold } ?? true
    }
    // Who didn't answer may know more.
    return isPossible || answered.count < others ? nil : false
  }
  /// Whether every holder that this device knows of has answered.
  package var haveAllAnswered: Bool {
    guard own?.state == .answered, holders.allSatisfy({ $0.state == .answered }) else { return false }
    return possible.isEmpty || answered == secret.shareCount
  }
  /// Holders that this device does not know.
  package var strangers: Int { max(0, secret.shareCount - all.count) }
  /// How likely damage of one piece in a hundred would have been noticed in each fragment that was found sound.
  package var onePercentNoticed: Double {
    let damaged = max(1, (pieceCount + 99) / 100)
    return all.filter { $0.state == .answered }
      .map { PieceSample.chance(ofNoticing: damaged, of: pieceCount, seeing: $0.piecesSeen) }.min() ?? 0
  }

  /// What of this device's own part is damaged or missing, and can be made anew with the others' help.
  package var repairable: OwnPart? {
    guard let own, own.state == .damaged else { return nil }
    return own.hasProvedShare ? .fragment : .share
  }

  /// Whether this device can't even read what it has of the secret.
  package var isUnreadable: Bool { own == nil && problem?.code == .damaged }

  private var all: [HolderCheck] { (own.map { [$0] } ?? []) + holders }
}

package enum CheckEvent: Sendable {
  case asking(peers: Int, secrets: Int)
  /// What was found of a secret can't be noted, on a full disk for example.
  case notKept(VaultError)
}
