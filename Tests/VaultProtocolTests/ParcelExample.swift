import PeerAuth
import ShamirKit
import Sodium
import WireCodec

@testable import VaultProtocol

/// A letter's plaintext put together field by field, with whatever fault a test wants.
struct LetterParts {
  var label = Array("vault/parcel/v1".utf8)
  var seed: [UInt8]
  var createdAt: UInt64
  var expiresAt: UInt64
  var sender: [UInt8]
  var recipient: [UInt8]
  var kind: UInt8
  var inReplyTo: [UInt8]
  var replyKey: [UInt8]
  var bodyVersion: UInt8 = 1
  var frames: [ParcelFrame]
  /// Bytes that stand in the frames' place.
  var rawBody: [UInt8]?
  /// Zeros up to the next power of two, if it isn't given.
  var padding: [UInt8]?

  /// The name of the parcel with this seed.
  var id: [UInt8] {
    get throws {
      var receipt = try DomainHash("vault/parcel-receipt/v1")
      receipt.append(seed)
      var id = try DomainHash("vault/parcel-id/v1")
      id.append(receipt.digest())
      return Array(id.digest().bytes.prefix(16))
    }
  }

  var body: [UInt8] {
    rawBody ?? [bodyVersion] + frames.flatMap { bigEndian($0.type) + bigEndian(UInt32($0.bytes.count)) + $0.bytes }
  }

  /// What stands before the signature, by name.
  var fields: [(String, [UInt8])] {
    [
      ("label", bigEndian(UInt16(label.count)) + label), ("seed", seed),
      ("created", bigEndian(createdAt)), ("expires", bigEndian(expiresAt)), ("sender", sender),
      ("recipient", recipient), ("kind", [kind]), ("in reply to", inReplyTo), ("reply key", replyKey),
      ("frames", bigEndian(UInt32(body.count)) + body),
    ]
  }

  /// The sender's signature over what the parts say.
  func signature(of identity: Identity) throws -> [UInt8] {
    var hash = try DomainHash("vault/parcel-signature/v1")
    for part in [try id, bigEndian(createdAt), bigEndian(expiresAt), sender, recipient, bigEndian(UInt64(kind))] {
      hash.append(part)
    }
    for part in [inReplyTo, replyKey, body] { hash.append(part) }
    return try identity.sign(hash.digest())
  }

  /// All that is sealed.
  func plaintext(signature: [UInt8]) -> [UInt8] {
    let front = fields.flatMap(\.1) + signature
    var size = 1024
    while size < front.count + 4 + 48 { size *= 2 }
    let padding = padding ?? [UInt8](repeating: 0, count: size - 48 - 4 - front.count)
    return front + bigEndian(UInt32(padding.count)) + padding
  }
}

/// The example of docs/formats/parcel.md: Bob asks Cay for a share, with the messages of docs/formats/protocol.md.
struct ParcelExample {
  let example: WalkedExample
  let parts: LetterParts
  /// For Cay's answer.
  let replyKey: AgreementKeyPair

  var bob: Identity { example.people[1] }
  var cay: Identity { example.people[2] }

  init() throws {
    let example = try WalkedExample()
    replyKey = try AgreementKeyPair(secret: secret([UInt8](repeating: 0x44, count: 32)))
    let messages = try example.messages()
    func frame(_ type: MessageType, _ name: String) -> ParcelFrame {
      ParcelFrame(type: type.rawValue, bytes: messages.first { $0.0 == name }?.1 ?? [])
    }
    parts = LetterParts(
      seed: [UInt8](repeating: 0x77, count: 32), createdAt: 1_700_000_000_000, expiresAt: 1_700_607_600_000,
      sender: example.people[1].keys.digest.bytes, recipient: example.people[2].keys.digest.bytes, kind: 1,
      inReplyTo: [UInt8](repeating: 0, count: 16), replyKey: replyKey.publicKey,
      frames: [
        try ParcelFrame(Hello(services: [.release])), frame(.releaseRequest, "release request"),
        frame(.possession, "possession"),
      ])
    self.example = example
  }

  /// The plaintext before its zeros, by name.
  func plaintext() throws -> [(String, [UInt8])] {
    let signature = try parts.signature(of: bob)
    let all = parts.plaintext(signature: signature)
    let front = parts.fields + [("signature", signature)]
    let end = front.reduce(0) { $0 + $1.1.count }
    return front + [("number of zeros that follow", Array(all[end..<(end + 4)]))]
  }

  /// Bodies of letters with messages: Bob writes to Cay, sends her a picture of ten bytes, and tells her what has come and what he has read.
  func messages() throws -> [(String, [UInt8])] {
    let name = [UInt8](repeating: 0x88, count: 16)
    guard let seed = ParcelSeed(parts.seed) else { throw WireError.invalidValue(field: "seed") }
    let address = "bob@example.org"
    let bytes = Array(UInt8(0)..<10)
    var digest = try FileDigest()
    digest.take(bytes.span.bytes)
    let file = try MessagePart.File(
      kind: .photo, name: "cat.jpg", mediaType: "image/jpeg", byteCount: 10, digest: digest.digest())
    let receipt = ParcelReceipt(
      id: try seed.parcelID(), branch: 2, expiresAt: Int64(parts.expiresAt), proof: try seed.proof(branch: 2))
    let contents: [(String, MessageContent)] = [
      ("text", .text(try MessageText(message: name, address: address, text: held(Array("Hello Cay".utf8))))),
      (
        "part",
        .part(
          try MessagePart(
            message: name, address: nil, file: file, caption: held(Array("Our cat".utf8)), number: 0,
            bytes: held(bytes)))
      ),
      ("receipts", .receipts(try MessageReceipts(delivered: [receipt], read: [name]))),
    ]
    return try contents.map { content in
      let encoded = try content.1.encoded()
      return (content.0, exposed(encoded))
    }
  }

  /// What is derived from the parts.
  func names() throws -> [(String, [UInt8])] {
    let id = try ParcelID.decode(parts.id, limit: 16)
    guard let seed = ParcelSeed(parts.seed) else { throw WireError.invalidValue(field: "seed") }
    let binding = try ParcelLetter.binding(
      id: id, createdAt: Int64(parts.createdAt), expiresAt: Int64(parts.expiresAt), sender: bob.keys.digest,
      recipient: cay.keys.digest, replyKey: replyKey.publicKey)
    return [
      ("id", id.bytes), ("proof that it has arrived, in branch 2", try seed.proof(branch: 2)),
      ("tag", try Parcel.tag(of: id, for: cay.keys.digest)), ("binding", binding.bytes),
      ("nonce of the proof", try OpeningChallenge.of(binding)),
    ]
  }
}
