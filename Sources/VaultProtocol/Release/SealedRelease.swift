package import PeerAuth
package import ShamirKit
package import Sodium
import WireCodec

/// A released share in a parcel: the ``Release`` that a session would have carried, sealed to the key that the request brought for its answer.
///
/// A `crypto_box_seal` (libsodium) within the letter's own. The letter's opens with the recipient's box key for as long as that key is kept; this one
/// only until the requester has forgotten the reply key, which it does with the request. So an old answer that a carrier has kept
/// gives no share to whoever gets the recipient's keys later.
package enum SealedRelease {
  package static let type = MessageType.sealedRelease
  package static let byteCount = Release.byteCount + X25519.sealOverhead

  /// Seals a share for the requester.
  package static func seal(
    request: UInt64, share: borrowing KeyShare, salt: borrowing SecretBytes, to replyKey: [UInt8]
  ) throws(ProtocolError) -> [UInt8] {
    let plaintext = try plaintext(request: request, share: share, salt: salt)
    do throws(SodiumError) { return try X25519.seal(plaintext, to: replyKey) } catch { throw .sodium(error) }
  }

  private static func plaintext(
    request: UInt64, share: borrowing KeyShare, salt: borrowing SecretBytes
  ) throws(ProtocolError) -> SecretBytes {
    guard salt.count == HolderRow.saltByteCount else { throw .foreignShare("salt") }
    return try secretBytes(count: Release.byteCount) { writer throws(WireError) in
      try Release.encode(request: request, share: share, salt: salt, into: &writer)
    }
  }

  /// Opens one with the key of the request that it answers. The share is still to be verified against its header.
  package static func open(_ bytes: RawSpan, with replyKey: AgreementKeyPair) throws(ProtocolError) -> Release {
    guard bytes.byteCount == byteCount else { throw .foreignParcel("release length") }
    let plaintext: SecretBytes
    do throws(SodiumError) { plaintext = try replyKey.openBox(bytes) } catch {
      throw error == .verificationFailed ? .foreignParcel("release") : .sodium(error)
    }
    return try Release.decode(plaintext.bytes)
  }
}
