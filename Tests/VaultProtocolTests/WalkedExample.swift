import PeerAuth
import ShamirKit
import Sodium
import WireCodec

@testable import VaultProtocol

/// The example of docs/formats/protocol.md, made again from its fixed inputs: 70 bytes, shared 2 of 3 by Ann, who keeps
/// share 1, with Bob and Cay.
struct WalkedExample {
  static let request: UInt64 = 0x0102_0304_0506_0708
  /// Commitments, shares 1 to 3, and proof, of docs/formats/shamirkit.md.
  private static let commitments = """
    0210cf253a783f061dd2bded0de9baf29b69dddebc5bd60f2bb704518394a91e\
    0a047bf1ce5fad4f5ed0b4a3454ca4d2cfd697085eadb1813ff05bebf204bffb11
    """
  private static let shares = [
    """
    00d3fe3087513f537cc231f801af8414e3a7c67e08ade77ac1f260ec99d60a00\
    4f88a4e6ee89448a694f7179f940d53667327ad213e971c918e18c27679f6e05
    """,
    """
    9e974c3a481fcb1a5e574d0aed741c30256da0280ecb2c22ede9f68900bbbc0a\
    9e3d4a9c56c249c156dcb0faf0d22559ebbc2d261f25fc1770cfb8623468d20a
    """,
    """
    4f88a4e6ee89448a694f7179f940d53667327ad213e971c918e18c27679f6e05\
    001ffaf4a3973ca06dccf8d8096b97666f47e1792a618666c7bde49d01313600
    """,
  ]
  private static let proof = """
    f20899bea78cb54ed7b7f2f258de1370c5eb0db42e2fa1dfdd94337fe96a1600\
    7466ec55f3fd9b46ce5880a65d36099d38ac229640f5d0d5bd4306773cc0bd05\
    2445fd38c58a2152d9fba6e0d19e45d4696015aa49287f156f083bfa6ebf1307
    """

  /// Ann, Bob, Cay.
  let people: [Identity]
  let salts: [[UInt8]] = [0xa1, 0xa2, 0xa3].map { [UInt8](repeating: $0, count: 32) }
  /// One piece per fragment.
  let pieces: [[UInt8]]
  let header: SecretHeader

  init() throws {
    people = try [UInt8(1), 4, 7].map { first in
      let secrets = (first..<(first + 3)).flatMap { [UInt8](repeating: $0, count: 32) }
      return try Identity(stored: secret([1] + secrets))
    }
    let nonce = [UInt8](0..<16)
    let id = try SecretHeader.id(dealerKey: people[0].keys.signing, nonce: nonce)
    let plan = try DispersalPlan(dataCount: 2, fragmentCount: 3, byteCount: 70)
    let ciphertext = [UInt8](0..<70)
    var output = [UInt8](repeating: 0, count: 192)
    try ciphertext.withUnsafeBytes { data in
      try output.withUnsafeMutableBytes { try StripeEncoder(plan).encode(stripe: 0, data: data, into: $0) }
    }
    pieces = [Array(output[..<64]), Array(output[64..<128]), Array(output[128...])]
    var roots: [Digest] = []
    var rows: [Digest] = []
    for position in 0..<3 {
      let index = UInt8(position + 1)
      let (piece, salt) = (pieces[position], salts[position])
      roots.append(try MerkleLeaf.digest(secret: id, fragment: index, piece: 0, bytes: piece.span.bytes))
      let card = people[position].keys.digest
      rows.append(try HolderRow.digest(secret: id, index: index, card: card, salt: salt.span.bytes))
    }
    let content = SecretHeader.Content(
      nonce: nonce, kind: 1, scheme: try ThresholdScheme(threshold: 2, shareCount: 3), createdAt: 1_700_000_000_000,
      ciphertextByteCount: 70, description: "keys", labels: ["Ann", "Bob", "Cay"],
      commitments: try Commitments.decode(Self.decoded(Self.commitments), limit: 100), roots: roots, rows: rows)
    header = try SecretHeader.sign(content, by: people[0])
  }

  private static func decoded(_ text: String) throws(WireError) -> [UInt8] {
    guard let bytes = bytes(hexadecimal: text) else { throw .invalidValue(field: "hexadecimal") }
    return bytes
  }

  func shareBytes(_ index: UInt8) throws -> [UInt8] { try Self.decoded(Self.shares[Int(index) - 1]) }

  /// The handshake hash of the example in `docs/formats/peerauth.md`.
  static let handshakeHash = "30fdd1adbdb77fec770d3ebe75194c053cb20d148905ce79f4af8d349c7bfbfe"

  /// What names and binds the secret, and the challenge of a session.
  func names() throws -> [(String, [UInt8])] {
    [
      ("card digest of Ann", people[0].keys.digest.bytes), ("card digest of Bob", people[1].keys.digest.bytes),
      ("card digest of Cay", people[2].keys.digest.bytes), ("secret id", header.id.bytes),
      ("ask tag", try AskTag.of(header.id).bytes), ("header digest", header.digest.bytes),
      (
        "opening challenge of the session in peerauth.md's example",
        try OpeningChallenge.of(Digest(Self.decoded(Self.handshakeHash)))
      ),
    ]
  }

  /// The header, field by field.
  func headerFields() throws -> [(String, [UInt8])] {
    let parts = try HeaderParts(header)
    return [
      ("version, suite", [parts.version, parts.suite]), ("dealer key", parts.dealerKey), ("nonce", parts.nonce),
      ("kind, t, n, k", [parts.kind, parts.threshold, parts.shareCount, parts.dataCount]),
      ("created", bigEndian(parts.created)), ("ciphertext length", bigEndian(parts.ciphertextByteCount)),
      ("description", bigEndian(UInt16(parts.description.count)) + parts.description),
      ("labels", [parts.labelsFlag] + parts.labels.flatMap { bigEndian(UInt16($0.count)) + $0 }),
      ("commitments", parts.commitments), ("roots", Array(parts.roots.joined())),
      ("holder rows", Array(parts.rows.joined())), ("extensions", parts.extensions), ("signature", header.signature),
    ]
  }

  /// What is sealed to Bob.
  func sealedContents() throws -> [(String, [UInt8])] {
    let share = try KeyShare(index: 2, bytes: secret(shareBytes(2)))
    let plaintext = try SealedShare.plaintext(
      share, salt: secret(salts[1]), header: header, dealer: people[0].keys.digest, recipient: people[1].keys.digest)
    let bytes = exposed(plaintext)
    let names = [
      ("label", 23), ("header digest", 32), ("index", 1), ("card digest of Ann", 32), ("card digest of Bob", 32),
      ("share", 64), ("salt", 32),
    ]
    var rest = bytes[...]
    return names.map { name, count in
      defer { rest = rest.dropFirst(count) }
      return (name, Array(rest.prefix(count)))
    }
  }

  /// The cards of Ann and Cay, as Ann hands them on.
  func otherCards() throws -> [HolderCard] {
    try [(1, "Ann", "192.0.2.1:4721"), (3, "Cay", "192.0.2.3:4721")].map { (index: UInt8, label, address) in
      let card = try people[Int(index) - 1].card(label: label, addresses: [PeerAddress(parsing: address)], serial: 1)
      return HolderCard(index: index, bytes: try card.encoded())
    }
  }

  /// What is sealed to Bob about the others.
  func introductionContents() throws -> [(String, [UInt8])] {
    let cards = try otherCards()
    let plaintext = try IntroductionBundle.plaintext(
      cards, header: header, index: 2, dealer: people[0].keys.digest, recipient: people[1].keys.digest)
    let bytes = exposed(plaintext)
    let names = [
      ("label", 23), ("header digest", 32), ("index", 1), ("card digest of Ann", 32), ("card digest of Bob", 32),
      ("number of cards", 1), ("1, and Ann's card", 3 + cards[0].bytes.count),
      ("3, and Cay's card", 3 + cards[1].bytes.count),
    ]
    var rest = bytes[...]
    return names.map { name, count in
      defer { rest = rest.dropFirst(count) }
      return (name, Array(rest.prefix(count)))
    }
  }

  /// What is said about holders. The card that Bob asks for newer ones of is Cay's.
  func introductionMessages() throws -> [(String, [UInt8])] {
    let request = Self.request
    let proof = try PossessionProof.decode(Self.decoded(Self.proof), limit: 96)
    let answers = Possession(request: request, index: 3, salt: salts[2], proof: proof)
    return try [
      (
        "introduction",
        Introduction(request: request, secret: header.id, index: 2, sealed: [0xaa, 0xbb, 0xcc]).encoded()
      ),
      ("introduction result: kept", IntroductionResult(request: request, refusal: nil).encoded()),
      ("card request", CardRequest(request: request, known: [.init(index: 3, serial: 1)]).encoded()),
      ("cards: none", Cards(request: request, cards: []).encoded()),
      (
        "drill answer: knows 2 other holders, has an address of 1",
        DrillAnswer(possession: answers, reach: HolderReach(known: 2, dialable: 1)).encoded()
      ),
    ]
  }

  /// A message of every type.
  func messages() throws -> [(String, [UInt8])] {
    let request = Self.request
    let tag = try AskTag.of(header.id)
    let proof = try PossessionProof.decode(Self.decoded(Self.proof), limit: 96)
    let share = try KeyShare(index: 3, bytes: secret(shareBytes(3)))
    let salt = try secret(salts[2])
    let release = try publicBytes(count: Release.byteCount) { writer throws(WireError) in
      try Release.encode(request: request, share: share, salt: salt, into: &writer)
    }
    let challenge = Challenge(request: request, nonce: [UInt8](repeating: 0x55, count: 32))
    return try [
      ("hello", Hello(services: [.deposit, .release, .drill]).encoded()),
      ("unsupported", Unsupported(requestType: 0x0701).encoded()),
      ("ping", Ping(request: request).encoded()), ("pong", Pong(request: request).encoded()),
      ("probe", Probe(request: request, fragmentByteCount: 64).encoded()),
      ("probe answer: yes", ProbeAnswer(request: request, refusal: nil).encoded()),
      ("probe answer: no, quota by bytes", ProbeAnswer(request: request, refusal: .quotaBytes).encoded()),
      (
        "offer",
        Offer(request: request, index: 2, sealedShare: [0xaa, 0xbb, 0xcc], header: [0xdd, 0xee]).encoded()
      ),
      ("offer answer: wants all", OfferAnswer(request: request, verdict: .wants(from: 0)).encoded()),
      ("offer answer: complete", OfferAnswer(request: request, verdict: .complete).encoded()),
      ("offer answer: refused, busy", OfferAnswer(request: request, verdict: .refused(.busy)).encoded()),
      (
        "offer answer: asks its user, 60 seconds",
        OfferAnswer(request: request, verdict: .asking(seconds: 60)).encoded()
      ),
      ("piece", Piece(request: request, number: 0, bytes: pieces[1]).encoded()),
      ("deposit end", DepositEnd(request: request).encoded()),
      ("deposit result: durable", DepositResult(request: request, refusal: nil).encoded()),
      (
        "release request",
        ReleaseRequest(request: request, tag: tag, headerDigest: header.digest, epoch: 0).encoded()
      ),
      ("challenge", challenge.encoded()),
      ("possession", Possession(request: request, index: 2, salt: salts[1], proof: proof).encoded()),
      ("release", release), ("refusal", Refusal(request: request, reason: .unavailable).encoded()),
      ("refusal: its user is asked", Refusal(request: request, reason: .userAsked).encoded()),
      (
        "refusal: released in two days", Refusal(request: request, reason: .releaseDelayed, wait: 172_800_000).encoded()
      ),
      ("piece request", PieceRequest(request: request, first: 0, count: 1).encoded()),
      (
        "proven piece",
        ProvenPiece(request: request, number: 0, path: MerklePath(siblings: []), bytes: pieces[2]).encoded()
      ),
      ("pieces end: all sent", PiecesEnd(request: request, refusal: nil).encoded()),
    ] + drillMessages(tag, proof)
  }

  /// Bob drills Cay.
  private func drillMessages(_ tag: Digest, _ proof: PossessionProof) throws -> [(String, [UInt8])] {
    let request = Self.request
    let asks = Possession(request: request, index: 2, salt: salts[1], proof: proof)
    let answers = Possession(request: request, index: 3, salt: salts[2], proof: proof)
    return try [
      (
        "drill request",
        DrillRequest(request: request, tag: tag, headerDigest: header.digest, epoch: 0).encoded()
      ),
      ("drill challenge", DrillChallenge(request: request, nonce: [UInt8](repeating: 0x55, count: 32)).encoded()),
      ("drill proof", DrillProof(possession: asks, nonce: [UInt8](repeating: 0x66, count: 32)).encoded()),
      ("drill answer", DrillAnswer(possession: answers).encoded()),
      ("drill refusal: share damaged", DrillRefusal(request: request, reason: .invalidShare).encoded()),
      ("drill piece request", DrillPieceRequest(request: request, numbers: [0]).encoded()),
      (
        "drill piece",
        DrillPiece(request: request, number: 0, path: MerklePath(siblings: []), bytes: pieces[2]).encoded()
      ),
      ("drill pieces end: all shown", DrillPiecesEnd(request: request, refusal: nil).encoded()),
    ]
  }
}
