import PeerAuth
import Sodium
import VaultProtocol
import VaultStore

/// Peers that are met in no session prove their keys by parcel.
///
/// A receipt shows that somebody has opened the parcel with the box key of the card that it was for: the code in it follows from a seed that was drawn for
/// this parcel. Where it comes in a letter that the signing key of that same card has signed, both keys are its owner's. The third one, for sessions, is not
/// used by parcel; every session has it proved anew.
extension Post {
  /// A peer has signed for a parcel of this device's own that only it could open.
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

  func isProven(_ peer: Digest) throws -> Bool {
    try database.peer(peer)?.state == .proven
  }

  /// Asks a peer for nothing but a receipt, by whatever way there is.
  func probe(_ peer: PeerRecord, _ folder: [UInt8]) throws {
    let envelope = try MessageEnvelope(lifetime: Self.parcelLifetime, at: environment.now())
    let parcel = try envelope.seal(.probe, from: identity, to: try directory.storedCard(peer).keys)
    var record = envelope.record(.request, to: peer.digest, ways: usualWays())
    record.group = folder
    let probe = record
    _ = try database.addParcel(probe, content: parcel, replySecret: nil)
  }
}

extension ParcelRecord {
  /// Whether it asks for nothing but its receipt: requests that have an answer have a number.
  var isProbe: Bool { direction == .request && delivery == nil && secretID == nil && request == 0 }
}
