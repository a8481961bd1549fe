import PeerAuth
import Sodium
@testable import VaultProtocol
import WireCodec

/// Parcels as carriers bring them, and the letters that a hostile peer may seal into one.
enum ParcelTargets {
  static let example = prepared { try ParcelExample() }

  static let all = [
    // What is for Cay must open; what is for others need only be well formed.
    FuzzTarget("parcel", upTo: 20_000) { bytes in
      let parcel = try canonical(Parcel.self, bytes, limit: Parcel.byteLimit)
      require(parcel.sealed.count.nonzeroBitCount == 1 && parcel.sealed.count >= 1024, "a parcel has one of few sizes")
      require(parcel.expiresAt % Parcel.hour == 0 && parcel.expiresAt > 0, "a parcel expires at a whole hour")
      guard parcel.isFor(example.cay.keys.digest) else { return true }
      let letter = try open(parcel)
      require(
        letter.frames == example.parts.frames && letter.id.bytes == example.parts.id
          && letter.expiresAt == parcel.expiresAt, "a letter that opens is the one that was sealed")
      return true
    },
    // The letter before its signature is the input: it is signed, padded and sealed first.
    FuzzTarget("parcel-letter", upTo: 20_000) { input in
      let content = try content(input)
      let frames = try ParcelFrame.frames(of: content.body.span.bytes)
      require((try? ParcelFrame.body(frames)) == content.body, "frames encode to the bytes they were read from")
      let parcel = try sealed(content)
      let letter = try open(parcel)
      require(
        letter.id == content.id && letter.sender == example.bob.keys.digest
          && letter.recipient == example.cay.keys.digest && letter.frames == frames, "a letter says what was signed")
      require(
        letter.expiresAt > letter.createdAt && letter.expiresAt - letter.createdAt <= Parcel.lifetimeLimit
          && (letter.kind == .answer) == (letter.inReplyTo != nil)
          && (letter.kind == .request) == (letter.replyKey != nil), "a letter's parts fit each other")
      require((1...ParcelFrame.countLimit).contains(letter.frames.count), "a letter has few frames")
      for frame in letter.frames {
        require(frame.bytes.count <= ParcelFrame.byteLimit(frame.type) ?? -1, "a frame is not too long")
      }
      let again = prepared {
        try ParcelLetter.seal(
          id: letter.id, createdAt: letter.createdAt, expiresAt: letter.expiresAt, kind: letter.kind,
          inReplyTo: letter.inReplyTo, replyKey: letter.replyKey, frames: letter.frames, from: example.bob,
          to: example.cay.keys)
      }
      require(again.sealed.count == parcel.sealed.count, "a letter that was read can be written")
      return true
    },
  ]

  private static func open(_ parcel: Parcel) throws(ProtocolError) -> ParcelLetter {
    try ParcelLetter.open(parcel, with: example.cay) { $0 == example.bob.keys.digest ? example.bob.keys : nil }
  }

  /// The letter that the input is, with zeros for a signature.
  private static func content(_ input: [UInt8]) throws -> ParcelContent {
    let front = input + [UInt8](repeating: 0, count: Ed25519.signatureByteCount)
    var size = Parcel.sealedByteMinimum
    while size < front.count + 4 + X25519.sealOverhead { size *= 2 }
    let padding = size - X25519.sealOverhead - 4 - front.count
    let plaintext = front + bigEndian(UInt32(padding)) + [UInt8](repeating: 0, count: padding)
    let content = try ParcelContent.read(plaintext.span.bytes).content
    let written = prepared { try content.plaintext(signature: [UInt8](repeating: 0, count: 64)) }
    require(exposed(written) == plaintext, "a letter encodes to the bytes it was read from")
    return content
  }

  private static func sealed(_ content: ParcelContent) throws -> Parcel {
    let signature = prepared { try example.bob.sign(content.signedDigest()) }
    let plaintext = prepared { try content.plaintext(signature: signature) }
    return try ParcelLetter.seal(plaintext, id: content.id, expiresAt: content.expiresAt, to: example.cay.keys)
  }
}
