import Sodium
import VaultStore

/// Peers that are never met in a session prove their keys by parcel.
///
/// A receipt shows that the parcel was opened with the box key of its card: its proof follows from a seed that was drawn for this parcel. In a letter
/// signed by the card's signing key it proves that both keys are its owner's. The third key, for sessions, is proved anew in each of them.
extension Post {
  /// A peer has signed a receipt for an own parcel.
  func provedByParcel(_ peer: PeerRecord) {
    guard peer.state != .proven else { return }
    do {
      let changed = try database.updatePeer(peer.digest) { $0.state = .proven }
      record(.peerProven, peer: changed, detail: "by parcel")
    } catch .notFound {
      // Removed in the same moment.
    } catch {
      environment.log.error("that \(peer.name) has proved its keys could not be noted: \(error)")
    }
  }

  func isProven(_ peer: Digest) throws -> Bool { try database.peer(peer)?.state == .proven }

  /// Asks a peer for nothing but a receipt.
  func probe(_ peer: PeerRecord, _ folder: [UInt8]) throws {
    let envelope = try MessageEnvelope(lifetime: Self.parcelLifetime, at: environment.now())
    let parcel = try envelope.seal(.probe, from: identity, to: try directory.storedCard(peer).keys)
    var record = envelope.record(.request, to: peer.digest, ways: usualWays())
    record.group = folder
    _ = try database.addParcel(record, content: parcel, replySecret: nil)
  }
}

extension ParcelRecord {
  /// Whether it asks for nothing but its receipt: requests that have an answer have a number.
  var isProbe: Bool { direction == .request && delivery == nil && secretID == nil && request == 0 }
}
