package import PeerAuth
package import Sodium
import WireCodec

/// What is in a parcel that asks or answers: messages of one peer to another, signed by the first, sealed to the second (`crypto_box_seal` of libsodium).
///
/// Signed first, then sealed, with both names under the signature: the recipient can't seal the letter anew for somebody else and pass for its
/// sender, and who merely carries it can't put his own name on it (Davis, "Defective Sign & Encrypt in S/MIME, PKCS#7, MOSS, PEM, PGP, and
/// XML", USENIX 2001). A value of this type has been opened, and everything in it holds.
package struct ParcelLetter: Hashable, Sendable {
  package enum Kind: UInt8, Hashable, Sendable, CaseIterable {
    /// From whoever wants something.
    case request = 1
    /// What came of it.
    case answer = 2
  }

  static let label: StaticString = "vault/parcel/v1"
  /// Most bytes of the frames together.
  package static let bodyLimit = 6 << 20

  /// The parcel's name, which follows from its seed.
  package let id: ParcelID
  /// What its receipts follow from.
  package let seed: ParcelSeed
  /// Milliseconds since 1970, by the sender's clock.
  package let createdAt: Int64
  /// Milliseconds since 1970, a whole hour.
  package let expiresAt: Int64
  /// Card digest of whoever signed it.
  package let sender: Digest
  /// Card digest of whoever it is for.
  package let recipient: Digest
  package let kind: Kind
  /// The request that an answer answers; nil in a request.
  package let inReplyTo: ParcelID?
  /// A fresh X25519 key to which a request wants secrets sealed; nil in an answer.
  package let replyKey: [UInt8]?
  /// The messages, in their order.
  package let frames: [ParcelFrame]

  private init(_ head: LetterHead, _ kind: Kind, _ frames: [ParcelFrame]) {
    id = head.id
    seed = head.seed
    createdAt = head.createdAt
    expiresAt = head.expiresAt
    sender = head.sender
    recipient = head.recipient
    self.kind = kind
    inReplyTo = head.inReplyTo
    replyKey = head.replyKey
    self.frames = frames
  }

  /// Signs a letter and seals it. Throws what its reader would throw for it.
  ///
  /// A request has a `replyKey`, an answer has none; an answer is `inReplyTo` a request.
  package static func seal(
    seed: ParcelSeed, createdAt: Int64, expiresAt: Int64, kind: Kind, inReplyTo: ParcelID? = nil,
    replyKey: [UInt8]? = nil, frames: [ParcelFrame], from sender: Identity, to recipient: CardKeys
  ) throws(ProtocolError) -> Parcel {
    let head: LetterHead
    let body: [UInt8]
    do throws(WireError) {
      head = try LetterHead(
        seed: seed, createdAt: createdAt, expiresAt: expiresAt, sender: sender.keys.digest,
        recipient: recipient.digest, kind: kind == .request ? .request : .answer, inReplyTo: inReplyTo,
        replyKey: replyKey)
      body = try ParcelFrame.body(frames)
    } catch { throw .malformed(error) }
    return try seal(head, body.span.bytes, from: sender, to: recipient)
  }

  /// Signs head and body and seals them.
  static func seal(
    _ head: LetterHead, _ body: RawSpan, from sender: Identity, to recipient: CardKeys
  ) throws(ProtocolError) -> Parcel {
    let signature: [UInt8]
    do throws(SodiumError) { signature = try sender.sign(head.signedDigest(body)) } catch { throw .sodium(error) }
    return try seal(
      head.plaintext(body, signature: signature), id: head.id, expiresAt: head.expiresAt, to: recipient)
  }

  /// Seals a plaintext, whatever is in it.
  static func seal(
    _ plaintext: borrowing SecretBytes, id: ParcelID, expiresAt: Int64, to recipient: CardKeys
  ) throws(ProtocolError) -> Parcel {
    let tag: [UInt8]
    let sealed: [UInt8]
    do throws(SodiumError) {
      tag = try Parcel.tag(of: id, for: recipient.digest)
      sealed = try X25519.seal(plaintext, to: recipient.box)
    } catch { throw .sodium(error) }
    do throws(WireError) { return try Parcel(id: id, tag: tag, expiresAt: expiresAt, sealed: sealed) } catch {
      throw .malformed(error)
    }
  }

  /// Opens a parcel that asks or answers; see ``openAny(_:with:sender:)``.
  package static func open(
    _ parcel: Parcel, with recipient: Identity, sender: (Digest) throws(ProtocolError) -> CardKeys?
  ) throws(ProtocolError) -> ParcelLetter {
    switch try openAny(parcel, with: recipient, sender: sender) {
    case .letter(let letter): return letter
    case .message: throw .foreignParcel("kind")
    }
  }

  /// Opens a parcel to this device and checks all of it. `sender` gives the keys of a peer with that card digest, nil if there is none.
  ///
  /// Whether it has come before, and whether its time is over, is left to those who have a memory and a clock. Until this returns nobody is
  /// to blame for what is in a parcel: everybody can make one, with any name in it.
  package static func openAny(
    _ parcel: Parcel, with recipient: Identity, sender: (Digest) throws(ProtocolError) -> CardKeys?
  ) throws(ProtocolError) -> OpenedParcel {
    let tag: [UInt8]
    do throws(SodiumError) { tag = try Parcel.tag(of: parcel.id, for: recipient.keys.digest) } catch {
      throw .sodium(error)
    }
    guard tag == parcel.tag else { throw .foreignParcel("tag") }
    let plaintext: SecretBytes
    do throws(SodiumError) { plaintext = try recipient.openBox(parcel.sealed.span.bytes) } catch {
      // Memory that is lacking is no reason to throw a parcel away.
      throw error == .verificationFailed ? .foreignParcel("box") : .sodium(error)
    }
    let reading: LetterHead.Reading
    do throws(WireError) { reading = try LetterHead.read(plaintext.bytes) } catch { throw .malformed(error) }
    let head = reading.head
    guard head.id == parcel.id else { throw .foreignParcel("id") }
    guard head.expiresAt == parcel.expiresAt else { throw .foreignParcel("expiry") }
    guard head.recipient == recipient.keys.digest else { throw .foreignParcel("recipient") }
    guard let keys = try sender(head.sender), keys.digest == head.sender else { throw .foreignParcel("sender") }
    return try opened(reading, plaintext.bytes, by: keys)
  }

  private static func opened(
    _ reading: LetterHead.Reading, _ plaintext: RawSpan, by keys: CardKeys
  ) throws(ProtocolError) -> OpenedParcel {
    let head = reading.head
    let body = plaintext.extracting(reading.body)
    do throws(SodiumError) {
      try Ed25519.verify(reading.signature, of: head.signedDigest(body), by: keys.signing)
    } catch {
      throw error == .verificationFailed ? .foreignParcel("signature") : .sodium(error)
    }
    let kind: Kind
    switch head.kind {
    case .message: return .message(MessageLetter(head, try MessageContent.decode(body)))
    case .request: kind = .request
    case .answer: kind = .answer
    }
    do throws(WireError) { return .letter(ParcelLetter(head, kind, try ParcelFrame.frames(of: body))) } catch {
      throw .malformed(error)
    }
  }

  /// What possession proofs in this letter are bound to, in the place of a session's handshake hash.
  package func binding() throws(SodiumError) -> Digest {
    try Self.binding(
      id: id, createdAt: createdAt, expiresAt: expiresAt, sender: sender, recipient: recipient, replyKey: replyKey)
  }

  /// BLAKE2b-256("vault/parcel-binding/v1", id, creation, expiry, sender, recipient, reply key), for somebody who makes a letter with a proof in it.
  ///
  /// No two requests have the same one: the id and the reply key are fresh.
  package static func binding(
    id: ParcelID, createdAt: Int64, expiresAt: Int64, sender: Digest, recipient: Digest, replyKey: [UInt8]?
  ) throws(SodiumError) -> Digest {
    try LetterHead.binding(
      id: id, createdAt: createdAt, expiresAt: expiresAt, sender: sender, recipient: recipient, replyKey: replyKey)
  }
}
