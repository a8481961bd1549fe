/// What the audit log distinguishes.
enum AuditEvent: String, CaseIterable {
  case peerAdded = "peer-added"
  case peerChanged = "peer-changed"
  case peerRemoved = "peer-removed"
  case peerProven = "peer-proven"
  case shared = "shared"
  case delivered = "share-delivered"
  case deliveryFailed = "delivery-failed"
  case shareReceived = "share-received"
  case shareReleased = "share-released"
  case shareDrilled = "share-drilled"
  case refused = "refused"
  case notHeld = "not-held"
  case conflict = "conflicting-header"
  case recovered = "recovered"
  case unlocked = "unlocked"
  case recoveryFailed = "recovery-failed"
  case deleted = "share-deleted"
  case takenUp = "share-taken-up"
  case cardReplaced = "card-replaced"
  case rebuilt = "rebuilt"
  case checked = "checked"
  case backedUp = "backup-created"
  case kitMade = "kit-created"
  case passphraseChanged = "passphrase-changed"
  case restored = "backup-restored"
  case holdersLow = "holders-low"
  case holdersLost = "holders-lost"
  case releaseRequested = "release-requested"
  case releaseAwaited = "release-awaited"
  case depositRequested = "deposit-requested"
  case requestApproved = "request-approved"
  case requestRefused = "request-refused"
  case policyChanged = "policy-changed"
  case recoveryWaits = "recovery-waits"
  case itemReceived = "item-received"
  case itemAdded = "item-added"
  case itemOpened = "item-opened"
  case itemSent = "item-sent"
  case itemDeleted = "item-deleted"
  case itemOvertaken = "item-overtaken"
  case groupCreated = "group-created"
  case groupInvited = "group-invited"
  case groupJoined = "group-joined"
  case groupMemberRemoved = "group-member-removed"
  case groupLeft = "group-left"
  case messageReceived = "message-received"
  case peerReplaced = "peer-replaced"
  case saidReplaced = "said-replaced"
  case changeProposed = "change-proposed"
  case changeRequested = "change-requested"
  case shareDealt = "share-dealt"
  case shareTakenOver = "share-taken-over"
  case oldSharesErased = "old-shares-erased"
  case fragmentRebuilt = "fragment-rebuilt"

  /// Whether the user's notification command is told.
  var notifies: Bool {
    switch self {
    case .cardReplaced, .shareReceived, .shareReleased, .refused, .conflict, .holdersLow, .holdersLost,
      .releaseRequested, .depositRequested, .itemReceived, .itemOvertaken, .groupInvited, .messageReceived,
      .changeRequested, .saidReplaced:
      true
    default: false
    }
  }
}
