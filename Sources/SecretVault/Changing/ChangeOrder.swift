/// What the user wants to be changed about the holders of secrets.
package enum ChangeOrder: Hashable, Sendable {
  /// One peer in another's place.
  case replace(String, by: String)
  case add(String)
  case remove(String)
  case threshold(Int)
  /// The same holders, with new shares: old copies are worth nothing once fewer than the threshold of them are left.
  case refresh
}

/// How far a change of a secret's holders has come.
package struct ChangeStatus: Hashable, Sendable {
  package enum Phase: Hashable, Sendable {
    /// It can't be proposed yet: numbers of shares whose holders haven't been heard of, and names of those who haven't said that they
    /// would take one.
    case gathering(absent: [Int], unwilling: [String])
    /// Holders agree.
    case proposed(agreed: Int, needed: Int, until: Int64)
    /// New shares are handed out.
    case made(ready: Int, needed: Int, missing: [String])
    case complete
  }

  package let secret: SecretReference
  package let phase: Phase
  /// Nil as long as there is no proposal.
  package let change: ChangeSummary?
  /// Whether this device's user has to say yes or no: to which request.
  package let request: Int64?
  /// Whether this device still has a share from before.
  package let hasOldShare: Bool
  /// Who may have shares from before: those who are in no row of the change, or haven't said that they have their new one.
  package let oldShares: [String]
  /// How many of those can open the secret together.
  package let formerThreshold: Int
  /// Why this device has agreed to nothing, or can't take its share over.
  package let problem: String?

  /// Whether something is still to be done about it.
  package var isOpen: Bool { phase != .complete || hasOldShare || request != nil }
}
