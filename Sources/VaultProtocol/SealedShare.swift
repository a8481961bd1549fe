public import PeerAuth
public import ShamirKit
public import Sodium
public import WireCodec

/// What a holder opens when a share arrives: the share, its salt, and everything that ties them to one holder and header.
///
/// Plaintext of a `crypto_box_seal` to the recipient's box key, of fixed length: label, header digest, index, dealer's and
/// recipient's card digests, share, salt. Sealing is by an ephemeral key that is forgotten, so that a waiting share can't
/// be opened again by its dealer.
public struct SealedShare: ~Copyable, Sendable {
  static let label: StaticString = "vault/sealed-share/v1"
  static var plaintextByteCount: Int { 2 + label.utf8CodeUnitCount + 32 + 1 + 32 + 32 + 64 + 32 }
  /// Bytes of a sealed share.
  public static var byteCount: Int { plaintextByteCount + X25519.sealOverhead }

  /// The key share.
  public let share: KeyShare
  /// The salt that opens the holder's row.
  public let salt: SecretBytes

  /// Seals a share for its holder.
  public static func seal(
    _ share: borrowing KeyShare, salt: borrowing SecretBytes, header: SecretHeader, dealer: Digest, recipient: CardKeys
  ) throws(ProtocolError) -> [UInt8] {
    let index = share.index
    let headerDigest = header.digest.bytes
    let recipientDigest = recipient.digest.bytes
    do {
      var plaintext = try SecretBytes(zeros: plaintextByteCount)
      var failure: WireError?
      plaintext.withUnsafeMutableBytes { buffer in
        var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
        do throws(WireError) {
          try write(into: &output) { writer throws(WireError) in
            try writer.text16(label.description)
            try writer.bytes(headerDigest)
            try writer.u8(index)
            try writer.bytes(dealer.bytes)
            try writer.bytes(recipientDigest)
            try writer.bytes(share.bytes.bytes)
            try writer.bytes(salt.bytes)
          }
        } catch { failure = error }
        _ = output.finalize(for: buffer)
      }
      if let failure { throw ProtocolError.malformed(failure) }
      return try X25519.seal(plaintext, to: recipient.box)
    } catch let error as SodiumError {
      throw .sodium(error)
    } catch let error as ProtocolError {
      throw error
    } catch {
      throw .foreignShare("sealing")
    }
  }

  /// Opens a sealed share and checks every part against the header it came with, the dealer it came from and this device.
  public init(
    opening sealed: RawSpan, with recipient: Identity, header: SecretHeader, index: UInt8, dealer: CardKeys
  ) throws(ProtocolError) {
    guard sealed.byteCount == Self.byteCount else { throw .foreignShare("length") }
    let plaintext: SecretBytes
    do { plaintext = try recipient.openBox(sealed) } catch { throw .foreignShare("box") }
    let shareBytes: SecretBytes
    let saltBytes: SecretBytes
    do {
      var reader = Reader(plaintext.bytes)
      guard try reader.text16(limit: 64, "label") == Self.label.description else {
        throw ProtocolError.foreignShare("label")
      }
      guard try reader.bytes(32, "header digest") == header.digest.bytes else {
        throw ProtocolError.foreignShare("header digest")
      }
      guard try reader.u8("index") == index else { throw ProtocolError.foreignShare("index") }
      guard try reader.bytes(32, "dealer") == dealer.digest.bytes else { throw ProtocolError.foreignShare("dealer") }
      guard try reader.bytes(32, "recipient") == recipient.keys.digest.bytes else {
        throw ProtocolError.foreignShare("recipient")
      }
      shareBytes = try SecretBytes(copying: try reader.span(64, "share"))
      saltBytes = try SecretBytes(copying: try reader.span(32, "salt"))
      try reader.finish()
    } catch let error as WireError {
      throw .malformed(error)
    } catch let error as SodiumError {
      throw .sodium(error)
    } catch let error as ProtocolError {
      throw error
    } catch {
      throw .foreignShare("contents")
    }
    guard header.dealerKey == dealer.signing else { throw .foreignShare("dealer") }
    try header.verifyHolder(index: index, card: recipient.keys.digest, salt: saltBytes.bytes)
    do {
      share = try KeyShare(index: index, bytes: shareBytes)
      try share.verify(against: header.commitments)
    } catch {
      throw .rejected(error)
    }
    salt = saltBytes
  }
}
