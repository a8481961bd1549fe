import Sodium
import VaultStore

/// Peers that say that this device was replaced by another one: until they take a call of it, or call.
extension TrustList {
  private static func saidReplacedKey(_ peer: Digest) -> String { "said-replaced-\(peer)" }

  /// Since when a peer says so, in milliseconds since 1970.
  func saidReplaced(_ peer: Digest) throws(StoreError) -> Int64? {
    guard let time = try database.meta(Self.saidReplacedKey(peer)), time.count == 8 else { return nil }
    return Int64(bigEndianBytes: time)
  }

  /// A peer has said so: its user, or who has deceived it, has put another card in this one's place.
  func heardReplaced(by recipient: Recipient) {
    do {
      guard let peer = try database.peer(recipient.keys.digest), try saidReplaced(peer.digest) == nil else { return }
      try database.setMeta(Self.saidReplacedKey(peer.digest), to: environment.now().bigEndianBytes)
      // It may say this and the contrary by turns.
      if core.mayWrite(of: peer) { record(.saidReplaced, peer: peer) }
    } catch { core.logFault("what a peer says of this device could not be noted: \(error)") }
  }

  /// It knows this device again, or is no peer any more.
  func forgetReplaced(_ peer: Digest) throws(StoreError) {
    if try saidReplaced(peer) != nil { try database.setMeta(Self.saidReplacedKey(peer), to: []) }
  }
}
