import PeerAuth
import ShamirKit
import Sodium
@testable import VaultProtocol
import WireCodec

enum ProtocolSamples {
  private static let example = HeaderTargets.example

  static func all() throws -> [Sample] { try headers() + messages() + shares() + pieces() }

  private static func headers() throws -> [Sample] {
    let header = example.header
    let bytes = header.bytes
    let parts = try HeaderParts(header)
    /// The unsigned bytes with one part changed.
    func changed(_ change: (inout HeaderParts) -> Void) -> [UInt8] {
      var parts = parts
      change(&parts)
      return parts.unsigned
    }
    var samples = Sample.of(
      "header",
      [
        "valid-two-of-three": bytes, "empty": [], "truncated-in-signature": bytes.without(last: 1),
        "trailing-byte": bytes + [0], "forged-signature": bytes.with(bytes.count - 1, [bytes[bytes.count - 1] ^ 1]),
        "forged-description": bytes.with(bytes.firstIndex(of: UInt8(ascii: "k")) ?? 0, [0x4b]),
        "unknown-version": bytes.with(0, [2]), "unknown-suite": bytes.with(1, [2]),
        "dealer-key-of-small-order": bytes.with(2, [1] + many(0, 31)), "too-long": bytes + many(0, 65_536),
      ])
    samples += Sample.of(
      "header-signed",
      [
        "valid-two-of-three": parts.unsigned,
        "valid-without-labels": changed {
          $0.labelsFlag = 0; $0.labels = []
        },
        "valid-empty-labels": changed { $0.labels = [[], [], []] }, "valid-unknown-kind": changed { $0.kind = 200 },
        "valid-with-an-extension": changed { $0.extensions = [0, 5, 0, 1, 0, 1, 9] },
        "valid-huge-ciphertext": changed { $0.ciphertextByteCount = 1 << 56 },
        "empty": [], "truncated-in-label": Array(parts.unsigned.prefix(82)),
        "truncated-in-rows": parts.unsigned.without(last: 10),
        "trailing-byte": parts.unsigned + [0],
        "threshold-of-one": changed {
          $0.threshold = 1; $0.dataCount = 1
        },
        "threshold-over-count": changed {
          $0.threshold = 4; $0.dataCount = 4
        }, "no-shares": changed { $0.shareCount = 0 },
        "more-shares-than-rows": changed { $0.shareCount = 255 }, "other-data-count": changed { $0.dataCount = 3 },
        "created-after-the-end-of-time": changed { $0.created = .max },
        "no-ciphertext": changed { $0.ciphertextByteCount = 0 },
        "ciphertext-over-limit": changed { $0.ciphertextByteCount = (1 << 56) + 1 },
        "ciphertext-of-all-ones": changed { $0.ciphertextByteCount = .max },
        "description-not-utf8": changed { $0.description = [0xc0, 0x80] },
        "description-with-nul": changed { $0.description = [0] },
        "huge-description": changed { $0.description = many(0x61, 1025) },
        "huge-label": changed { $0.labels[0] = many(0x61, 129) },
        "labels-flag-of-two": changed { $0.labelsFlag = 2 }, "one-label-missing": changed { $0.labels.removeLast() },
        "commitment-is-identity": changed { $0.commitments = $0.commitments.with(1, many(0, 32)) },
        "commitment-not-canonical": changed { $0.commitments = $0.commitments.with(1, many(0xff, 32)) },
        "commitments-of-another-threshold": changed {
          $0.commitments = [3] + $0.commitments.dropFirst() + $0.commitments[1..<33]
        },
        "one-root-more-one-row-less": changed {
          $0.roots.append($0.rows.removeFirst()); $0.rows.removeLast()
        },
        "must-understand-extension": changed { $0.extensions = [0, 4, 0, 2, 0, 0] },
      ])
    samples += Sample.of(
      "holder-row",
      [
        "valid-first-holder": [1] + example.people[0].keys.digest.bytes + example.salts[0],
        "valid-last-holder": [3] + example.people[2].keys.digest.bytes + example.salts[2],
        "index-zero": [0] + example.people[0].keys.digest.bytes + example.salts[0],
        "index-over-count": [4] + example.people[0].keys.digest.bytes + example.salts[0],
        "salt-of-another": [1] + example.people[0].keys.digest.bytes + example.salts[1],
        "short-salt": [1] + example.people[0].keys.digest.bytes + example.salts[0].without(last: 1), "empty": [],
      ])
    return samples
  }

  private static func messages() throws -> [Sample] {
    var samples: [Sample] = []
    let requests: Set<MessageType> = [
      .hello, .ping, .probe, .offer, .piece, .depositEnd, .releaseRequest, .possession, .pieceRequest, .drillRequest,
      .drillProof, .drillPieceRequest,
    ]
    for (words, body) in try example.messages() {
      let name = words.replacing(",", with: "").replacing(":", with: "").replacing(" ", with: "-")
      let types = MessageType.allCases.filter { words.hasPrefix(Self.words(of: $0)) }
      guard let type = types.max(by: { Self.words(of: $0).count < Self.words(of: $1).count }) else {
        violated("every message has a type: \(words)")
      }
      let bytes = bigEndian(type.rawValue) + body
      samples += Sample.of(
        "message",
        ["valid-\(name)": bytes, "truncated-\(name)": bytes.without(last: 1), "trailing-byte-\(name)": bytes + [0]])
      if requests.contains(type) { samples += Sample.of("request", ["valid-\(name)": bytes]) }
    }
    func body(_ type: MessageType, _ parts: [UInt8]...) -> [UInt8] { bigEndian(type.rawValue) + parts.joined() }
    let number = bigEndian(WalkedExample.request)
    samples += Sample.of(
      "message",
      [
        "unknown-number": [0x10, 0x02], "number-zero": [0, 0], "empty": [],
        "hello-of-version-zero": body(.hello, [0, 0, 0, 0, 0, 0]),
        "hello-with-huge-count": body(.hello, [0, 1, 0xff, 0xff]),
        "valid-hello-unknown-service": body(.hello, [0, 1, 0, 1, 0xff, 0xff, 0, 0]),
        "hello-must-understand": body(.hello, [0, 1, 0, 0, 0, 4, 0, 2, 0, 0]),
        "valid-later-reason": body(.refusal, number, [200]), "refusal-without-reason": body(.refusal, number, [0]),
        "offer-answer-unknown-verdict": body(.offerAnswer, number, [5], many(0, 9)),
        "offer-answer-asks-for-no-time": body(.offerAnswer, number, [4], many(0, 9)),
        "offer-answer-asks-for-ever": body(.offerAnswer, number, [4], many(0xff, 8), [0]),
        "offer-answer-asks-with-reason": body(.offerAnswer, number, [4], many(0, 7), [60, 11]),
        "refusal-delayed-without-time": body(.refusal, number, [17]),
        "refusal-delayed-for-no-time": body(.refusal, number, [17], many(0, 8)),
        "refusal-delayed-for-ever": body(.refusal, number, [17], many(0xff, 8)),
        "refusal-asked-with-time": body(.refusal, number, [16], many(0, 7), [9]),
        "offer-answer-complete-with-piece": body(.offerAnswer, number, [2], many(1, 8), [0]),
        "offer-answer-wants-with-reason": body(.offerAnswer, number, [1], many(0, 8), [3]),
        "offer-with-huge-share": body(.offer, number, [1, 0xff, 0xff]),
        "offer-with-huge-header": body(.offer, number, [1, 0, 0, 0xff, 0xff, 0xff, 0xff]),
        "piece-with-huge-length": body(.piece, number, number, [0x7f, 0xff, 0xff, 0xff]),
        "piece-request-of-none": body(.pieceRequest, number, many(0, 12)),
        "piece-request-of-too-many": body(.pieceRequest, number, many(0, 8), [0, 0, 0x10, 1]),
        "proven-piece-with-long-path": body(.provenPiece, number, number, [65], many(0, 70)),
        "release-share-not-canonical": body(.release, number, [1], many(0, 32), many(0xff, 64)),
        "release-of-index-zero": body(.release, number, [0], many(0, 96)),
        "valid-group-letter-joining": body(.groupLetter, number, [2, 0, 0, 0, 3], many(7, 3)),
        "valid-group-reply-taken": body(.groupReply, number, [0, 0, 0, 0, 3], many(7, 3)),
        "valid-group-reply-refused": body(.groupReply, number, [21]),
        "group-letter-unknown-purpose": body(.groupLetter, number, [3, 0, 0, 0, 0]),
        "group-letter-with-huge-length": body(.groupLetter, number, [1, 0xff, 0xff, 0xff, 0xff]),
        "group-reply-with-huge-length": body(.groupReply, number, [0, 0x7f, 0xff, 0xff, 0xff]),
        "possession-not-canonical": body(.possession, number, [1], many(0, 32), many(0xff, 96)),
        "drill-proof-not-canonical": body(.drillProof, number, [1], many(0, 32), many(0xff, 128)),
        "drill-piece-request-of-none": body(.drillPieceRequest, number, [0, 0]),
        "drill-piece-request-of-too-many": body(.drillPieceRequest, number, [0, 65]),
        "drill-piece-request-twice-the-same": body(.drillPieceRequest, number, [0, 2], many(0, 16)),
        "drill-piece-request-descending": body(
          .drillPieceRequest, number, [0, 2], bigEndian(UInt64(2)), bigEndian(UInt64(1))),
        "drill-piece-with-long-path": body(.drillPiece, number, number, [65], many(0, 70)),
        "drill-refusal-without-reason": body(.drillRefusal, number, [0]),
      ])
    samples += lifecycle(number)
    samples += Sample.of(
      "request", ["answer-is-no-request": body(.pong, number), "empty": [], "unknown-number": [9, 9, 9]])
    return samples + dialogues()
  }

  private static func lifecycle(_ number: [UInt8]) -> [Sample] {
    func body(_ type: MessageType, _ parts: [UInt8]...) -> [UInt8] { bigEndian(type.rawValue) + parts.joined() }
    let (tag, marks) = ([1] + many(5, 32), [0, 2] + bigEndian(UInt64(3)) + bigEndian(UInt64.max))
    let proof = [1] + many(6, 32) + [0, 0, 0, 1, 2] + many(0, 32) + encoding(of: ShareTargets.proof)
    let joining = LifecycleTargets.objects[2].bytes
    let length = bigEndian(UInt32(joining.count))
    let valid: KeyValuePairs = [
      "valid-lifecycle-request-of-all": body(.lifecycleRequest, number, [0, 0, 0, 0]),
      "valid-lifecycle-request": body(.lifecycleRequest, number, tag, [0], marks),
      "valid-lifecycle-request-with-proof": body(.lifecycleRequest, number, tag, proof, [0, 0]),
      "valid-lifecycle-item": body(.lifecycleItem, number, [2], length, joining),
      "valid-lifecycle-end": body(.lifecycleEnd, number, [0, 0]),
      "valid-lifecycle-end-that-wants": body(.lifecycleEnd, number, marks),
    ]
    return Sample.of("message", valid) + Sample.of("request", valid)
      + Sample.of(
        "message",
        [
          "valid-lifecycle-result": body(.lifecycleResult, number, [0]),
          "lifecycle-request-of-all-with-marks": body(.lifecycleRequest, number, [0, 0], marks),
          "lifecycle-request-of-all-with-proof": body(.lifecycleRequest, number, [0], proof, [0, 0]),
          "lifecycle-request-descending": body(
            .lifecycleRequest, number, tag, [0], [0, 2], bigEndian(UInt64(2)), bigEndian(UInt64(1))),
          "lifecycle-request-with-huge-count": body(.lifecycleRequest, number, tag, [0, 0xff, 0xff]),
          "lifecycle-request-flag-of-two": body(.lifecycleRequest, number, [2], many(5, 32), [0, 0, 0]),
          "lifecycle-item-unknown-kind": body(.lifecycleItem, number, [6], length, joining),
          "lifecycle-item-with-huge-length": body(.lifecycleItem, number, [2, 0x7f, 0xff, 0xff, 0xff]),
          "lifecycle-end-twice-the-same": body(.lifecycleEnd, number, [0, 2], many(0, 16)),
        ])
  }

  private static func dialogues() -> [Sample] {
    let hello: [UInt8] = [0, 0]
    func offer(_ choice: UInt8) -> [UInt8] { [3, 1, 7, choice] }
    func piece(_ number: UInt8) -> [UInt8] { [4, 1, 64] + many(0, 7) + [number] }
    func pieces(_ request: UInt8) -> [UInt8] { [8, request] + many(0, 9) }
    let ping: [UInt8] = [1, 1]
    let released: [UInt8] = [6, 1, 7, 1, 1]
    let second = [6, 2] + many(9, 32) + [7, 2, 1]
    let drill = [10, 1] + many(9, 32)
    // Greeting, offers of both parcels, what is wanted of them, and the turn.
    func meeting(_ wanted: UInt8) -> [UInt8] { [18, 1, 19, 1, 3, wanted] }
    let turn: [UInt8] = [22, 1]
    return Sample.of(
      "dialogue",
      [
        "deposit": hello + offer(1) + piece(0) + [5, 1] + ping,
        "release": hello + released + pieces(1),
        "second-release": hello + released + second + pieces(2) + pieces(1),
        "pieces-with-a-proof-that-fails": hello + [6, 1, 7, 1, 0] + pieces(1) + ping,
        "pieces-twice-with-a-proof-that-fails": hello + [6, 1, 7, 1, 0] + pieces(1) + pieces(1),
        "pieces-behind-a-refused-offer": hello + offer(0) + piece(0) + [5, 1] + ping,
        "too-many-pieces-behind-a-refused-offer": hello + offer(0) + (0..<17).flatMap { _ in piece(0) },
        "known-pieces-ahead": hello + offer(5) + piece(0) + piece(1) + piece(2) + [5, 1] + ping,
        "no-greeting": ping, "two-greetings": hello + hello, "piece-without-offer": hello + piece(0),
        "possession-twice": hello + released + [7, 1], "pieces-unproven": hello + pieces(1),
        "offer-in-deposit": hello + offer(1) + offer(1),
        "meeting": hello + meeting(3) + [20, 1, 0, 20, 1, 1, 20, 1, 3] + turn + [0, 21, 1, 0, 2] + ping,
        "meeting-without-parcels": hello + meeting(0) + turn + [2] + ping,
        "unwanted-parcel": hello + meeting(1) + [20, 1, 0],
        "parcel-within-parcel": hello + meeting(3) + [20, 1, 1, 20, 1, 0],
        "turn-within-parcel": hello + meeting(3) + [20, 1, 1] + turn,
        "request-within-meeting": hello + meeting(3) + ping,
        "nine-meetings": hello + (0..<9).flatMap { _ in meeting(0) + turn + [2] },
        // A choice behind each question: whether it is refused. An object's is which one it is.
        "lifecycle": hello + [25, 1, 0, 26, 1, 0, 26, 1, 4, 27, 1] + ping,
        "lifecycle-refused": hello + [25, 1, 1, 26, 1, 0, 27, 1] + ping,
        "lifecycle-object-behind-the-end-of-a-refused-one": hello + [25, 1, 1, 27, 1, 26, 1, 0],
        "lifecycle-of-another-number": hello + [25, 1, 0, 26, 2, 0],
        "lifecycle-within-lifecycle": hello + [25, 1, 0, 25, 2],
        "lifecycle-object-without-question": hello + [26, 1, 0], "ping-within-lifecycle": hello + [25, 1, 0] + ping,
        "drill": hello + drill + [11, 1, 1, 12, 1, 3],
        "drill-pieces-of-an-earlier-one": hello + drill + [11, 1, 1, 10, 2] + many(9, 32) + [11, 2, 0, 12, 1, 3],
      ])
  }

  /// What the walked example calls messages of a type.
  private static func words(of type: MessageType) -> String {
    "\(type)".reduce(into: "") { $0 += $1.isUppercase ? " \($1.lowercased())" : String($1) }
  }

  private static func shares() throws -> [Sample] {
    let people = example.people
    let proof = encoding(of: ShareTargets.proof)
    let commitments = encoding(of: example.header.commitments)
    let share = try example.shareBytes(2)
    let inside = try example.sealedContents().flatMap(\.1)
    let exchange = PossessionExchange(
      Epoch(example.header), purpose: .release, prover: people[1].keys.digest,
      verifier: people[2].keys.digest, binding: example.header.digest, nonce: many(0x55, 32))
    let own = try KeyShare(index: 2, bytes: try secret(share))
    let salt = try secret(example.salts[1])
    let possession = encoding(
      of: try exchange.prove(
        request: 1, share: own, salt: salt, evaluation: try example.header.commitments.evaluation(at: 2)))
    let plaintext = try secret(inside)
    let sealed = try X25519.seal(plaintext, to: people[1].keys.box)
    let dealt = [1, 1, 2, 1] as [UInt8]
    return Sample.of(
      "commitments",
      [
        "valid-two": commitments, "one": [1] + commitments[1..<33], "none": [0], "empty": [], "huge-count": [255],
        "truncated": commitments.without(last: 1), "identity": commitments.with(1, many(0, 32)),
        "not-canonical-point": commitments.with(1, many(0xff, 32)), "trailing-byte": commitments + [0],
      ])
      + Sample.of(
        "possession-proof",
        [
          "valid-but-for-another-statement": proof, "truncated": proof.without(last: 1), "trailing-byte": proof + [0],
          "empty": [],
          "not-canonical-point": proof.with(0, many(0xff, 32)), "identity": proof.with(0, many(0, 32)),
          "not-canonical-scalar": proof.with(64, many(0xff, 32)), "valid-zero-scalars": proof.with(32, many(0, 64)),
        ])
      + Sample.of(
        "possession",
        [
          "valid": [3] + possession, "own-index": [2] + possession, "wrong-index": [3] + possession.with(8, [1]),
          "index-zero": [3] + possession.with(8, [0]), "index-over-count": [3] + possession.with(8, [255]),
          "wrong-salt": [3] + possession.with(9, [0]), "proof-of-another": [3] + possession.with(41, proof),
          "empty": [],
        ])
      + Sample.of(
        "sealed-share",
        [
          "valid": sealed, "wrong-box": sealed.with(sealed.count - 1, [sealed[sealed.count - 1] ^ 1]),
          "truncated": sealed.without(last: 1), "trailing-byte": sealed + [0], "empty": [],
          "zeros": many(0, sealed.count),
        ])
      + Sample.of(
        "sealed-share-inside",
        [
          "valid": inside, "other-label": inside.with(2, [0x56]), "other-header": inside.with(23, many(0, 32)),
          "other-index": inside.with(55, [3]), "other-dealer": inside.with(56, many(0, 32)),
          "other-recipient": inside.with(88, many(0, 32)), "not-canonical-scalar": inside.with(120, many(0xff, 32)),
          "other-share": inside.with(120, try example.shareBytes(3)), "other-salt": inside.with(184, many(0, 32)),
          "huge-label": inside.with(0, [0xff, 0xff]), "truncated": inside.without(last: 1), "empty": [],
        ])
      + (try introductions())
      + Sample.of(
        "key-share",
        [
          "valid": [2] + share, "other-index": [3] + share, "index-zero": [0] + share,
          "not-canonical-scalar": [2] + many(0xff, 64),
          "zero": [2] + many(0, 64), "truncated": [2] + share.without(last: 1), "empty": [],
        ])
      + Sample.of(
        "shares-combined",
        [
          "valid-two": dealt, "valid-three": dealt + [3, 1], "valid-one-twice": dealt + [1, 1],
          "valid-two-and-a-bad-one": dealt + [3, 0] + many(0, 64), "one": [1, 1], "none": [],
          "two-bad-ones": [1, 0] + many(0, 64) + [2, 0] + many(0, 64),
          "index-zero": [0, 0],
        ])
  }

  /// What is sealed to Bob about the others.
  private static func introductions() throws -> [Sample] {
    let inside = try example.introductionContents().flatMap(\.1)
    let cards = try example.otherCards()
    func naming(_ cards: [HolderCard]) -> [UInt8] {
      inside.prefix(120) + [UInt8(cards.count)] + cards.flatMap { [$0.index] + $0.bytes.counted }
    }
    return Sample.of(
      "introduction",
      [
        "valid": inside, "valid-one": naming([cards[1]]), "of-nobody": naming([]), "empty": [],
        "other-label": inside.with(2, [0x56]), "other-header": inside.with(23, many(0, 32)),
        "other-index": inside.with(55, [3]), "other-dealer": inside.with(56, many(0, 32)),
        "other-recipient": inside.with(88, many(0, 32)), "truncated": inside.without(last: 1),
        "trailing-byte": inside + [0], "huge-count": inside.with(120, [255]), "descending": naming(cards.reversed()),
        "of-index-zero": naming([HolderCard(index: 0, bytes: cards[1].bytes)]),
        "of-the-recipient": naming([HolderCard(index: 2, bytes: cards[1].bytes)]),
        "of-share-four": naming([HolderCard(index: 4, bytes: cards[1].bytes)]),
        "twice-one-card": naming([cards[0], HolderCard(index: 3, bytes: cards[0].bytes)]),
        "wrong-signature": naming([
          HolderCard(index: 3, bytes: cards[1].bytes.with(cards[1].bytes.count - 1, [0]))
        ]), "huge-card": inside.prefix(120) + [1, 3, 0xff, 0xff],
      ])
  }

  private static func pieces() throws -> [Sample] {
    let leaves = (0..<5).map { many(UInt8($0), 32) }
    var accumulator = MerkleAccumulator()
    for leaf in leaves { try accumulator.append(leaf: Digest(leaf)) }
    let root = try accumulator.root().bytes
    let nodes = try [
      MerkleNode.digest(Digest(leaves[0]), Digest(leaves[1])), MerkleNode.digest(Digest(leaves[2]), Digest(leaves[3])),
    ]
    func number(_ number: UInt64) -> [UInt8] { [64] + bigEndian(number) }
    let path = [3] + leaves[1] + nodes[1].bytes + leaves[4]
    let start = number(0) + number(5) + root + leaves[0]
    return Sample.of(
      "merkle-path",
      [
        "valid-first-of-five": start + path, "valid-single-leaf": number(0) + number(1) + leaves[0] + leaves[0] + [0],
        "other-place": number(1) + number(5) + root + leaves[0] + path,
        "place-behind-the-end": number(5) + number(5) + root + leaves[0] + path,
        "huge-tree": number(0) + number(.max) + root + leaves[0] + path,
        "no-leaves": number(0) + number(0) + root + leaves[0] + path,
        "one-sibling-less": start + [2] + path[1..<65], "one-sibling-more": start + [4] + path.dropFirst() + leaves[0],
        "too-long-path": start + [65] + many(0, 65 * 32), "truncated": start + path.without(last: 1), "empty": [],
      ])
      + Sample.of(
        "merkle-tree",
        ["one-leaf": [0, 0] + many(1, 32), "seventy-leaves": [0, 69], "eight-leaves": [0, 7] + many(3, 100)])
      + Sample.of(
        "dispersal",
        [
          "valid-two-of-three": [2, 3] + number(70), "valid-largest": [255, 255] + number(1 << 56),
          "valid-many-stripes": [3, 5] + number(1 << 40) + number(100), "too-large": [2, 3] + number((1 << 56) + 1),
          "nothing": [2, 3] + number(0),
          "one-fragment-rebuilds": [1, 3] + number(70), "more-data-than-fragments": [4, 3] + number(70), "empty": [],
        ])
      + Sample.of(
        "stripes",
        [
          "valid-parity-alone": [2, 4, 0, 2, 3, 4, 0] + many(7, 70),
          "valid-data-alone": [2, 3, 0, 2, 2, 1, 0] + many(7, 70),
          "valid-wide": [5, 255, 0, 5, 255, 254, 3, 2, 9, 0] + many(1, 300),
          "same-fragment-twice": [2, 3, 0, 2, 1, 1, 0] + many(7, 70),
          "fragment-zero": [2, 3, 0, 2, 0, 1, 0] + many(7, 70),
          "fragment-over-count": [2, 3, 0, 2, 4, 1, 0] + many(7, 70),
          "too-few-fragments": [2, 3, 0, 1, 1, 0] + many(7, 70),
          "short-pieces": [2, 3, 0, 2, 1, 3, 1] + number(7000) + many(7, 70), "empty": [],
        ])
      + Sample.of(
        "deposit",
        [
          "valid-fragment-two": [2, 1, 1, 0, 1], "piece-of-another": [2, 1, 1, 0, 0],
          "other-number": [2, 0] + number(1) + [1, 0, 1],
          "short-piece": [2, 1, 0, 0, 1, 9], "piece-behind-the-end": [2, 1, 1, 0, 0, 1, 1, 0, 0],
          "index-zero": [0, 1, 1, 0, 1], "nothing": [2],
        ])
  }
}
