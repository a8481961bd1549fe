import PeerAuth
import ShamirKit
import Sodium
import Testing
import WireCodec

@testable import VaultProtocol

/// A letter that a test changes before it is signed and sealed.
private struct Scene {
  let sender: Identity
  let recipient: Identity
  var parts: LetterParts
  /// Named outside, where they differ from what is inside.
  var outerID: [UInt8]?
  var outerExpiry: Int64?

  init() throws {
    sender = try .generate()
    recipient = try .generate()
    let createdAt = Int64.random(in: 1...(1 << 45))
    parts = LetterParts(
      seed: try Randomness.bytes(32), createdAt: UInt64(createdAt),
      expiresAt: UInt64(Parcel.expiry(createdAt: createdAt, lifetime: .random(in: 1...(14 * 24 * Parcel.hour)))),
      sender: sender.keys.digest.bytes, recipient: recipient.keys.digest.bytes, kind: 1,
      inReplyTo: [UInt8](repeating: 0, count: 16), replyKey: try AgreementKeyPair.generate().publicKey,
      frames: try [ParcelFrame(Hello(services: [.release])), ParcelFrame(Ping(request: 7))])
  }

  func sealed(by signer: Identity? = nil, to other: Identity? = nil) throws -> Parcel {
    let plaintext = try secret(parts.plaintext(signature: parts.signature(of: signer ?? sender)))
    let id = try #require(ParcelID(outerID ?? parts.id))
    return try ParcelLetter.seal(
      plaintext, id: id, expiresAt: outerExpiry ?? Int64(parts.expiresAt), to: (other ?? recipient).keys)
  }

  /// What the recipient says to a parcel; nil if it takes it.
  func refusal(_ parcel: Parcel, by other: Identity? = nil) -> ProtocolError? {
    protocolError { () throws(ProtocolError) in
      _ = try ParcelLetter.open(parcel, with: other ?? recipient) { $0 == sender.keys.digest ? sender.keys : nil }
    }
  }

  /// What the recipient says when something was changed before signing and sealing.
  static func refusal(_ change: (inout Scene) throws -> Void) throws -> ProtocolError? {
    var scene = try Scene()
    try change(&scene)
    return scene.refusal(try scene.sealed())
  }

  /// What the recipient says when something was changed behind the sender's back: nobody can sign it anew.
  static func refusalUnsigned(_ change: (inout LetterParts) throws -> Void) throws -> ProtocolError? {
    let scene = try Scene()
    var parts = scene.parts
    let signature = try parts.signature(of: scene.sender)
    try change(&parts)
    let plaintext = try secret(parts.plaintext(signature: signature))
    let id = try #require(ParcelID(parts.id))
    return scene.refusal(
      try ParcelLetter.seal(plaintext, id: id, expiresAt: Int64(parts.expiresAt), to: scene.recipient.keys))
  }
}

private func invalid(_ field: String) -> ProtocolError { .malformed(.invalidValue(field: field)) }

@Suite("A letter in a parcel")
struct ParcelLetterTests {
  @Test("arrives as it was sent, both ways", arguments: ParcelLetter.Kind.allCases)
  func arrives(_ kind: ParcelLetter.Kind) throws {
    let (sender, recipient) = (try Identity.generate(), try Identity.generate())
    let (seed, request) = (try ParcelSeed.fresh(), try ParcelID.fresh())
    let replyKey = try AgreementKeyPair.generate().publicKey
    let frames = try [
      ParcelFrame(Hello(services: [.deposit])),
      ParcelFrame(Piece(request: 5, number: 0, bytes: Randomness.bytes(.random(in: 0...3000)))),
      ParcelFrame(DepositEnd(request: 5)),
    ]
    let expiry = Parcel.expiry(createdAt: 1_700_000_000_001, lifetime: 3 * 24 * Parcel.hour)
    let parcel = try ParcelLetter.seal(
      seed: seed, createdAt: 1_700_000_000_001, expiresAt: expiry, kind: kind,
      inReplyTo: kind == .answer ? request : nil,
      replyKey: kind == .request ? replyKey : nil, frames: frames, from: sender, to: recipient.keys)
    let arrived = try Parcel.decode(parcel.encoded(), limit: Parcel.byteLimit)
    let letter = try ParcelLetter.open(arrived, with: recipient) { $0 == sender.keys.digest ? sender.keys : nil }
    #expect(arrived == parcel)
    let id = try seed.parcelID()
    #expect(
      letter.id == id && parcel.id == id && letter.seed == seed && letter.createdAt == 1_700_000_000_001
        && letter.expiresAt == expiry)
    #expect(letter.sender == sender.keys.digest && letter.recipient == recipient.keys.digest && letter.kind == kind)
    #expect(letter.inReplyTo == (kind == .answer ? request : nil))
    #expect(letter.replyKey == (kind == .request ? replyKey : nil))
    #expect(letter.frames == frames)
  }

  @Test("is written as the tests' own writer has it")
  func plaintext() throws {
    let scene = try Scene()
    let parcel = try scene.sealed()
    #expect(scene.refusal(parcel) == nil)
    let letter = try ParcelLetter.open(parcel, with: scene.recipient) { _ in scene.sender.keys }
    let head = try LetterHead(
      seed: letter.seed, createdAt: letter.createdAt, expiresAt: letter.expiresAt, sender: letter.sender,
      recipient: letter.recipient, kind: .request, inReplyTo: nil, replyKey: letter.replyKey)
    let body = try ParcelFrame.body(letter.frames)
    let signature = try scene.parts.signature(of: scene.sender)
    let written = try head.plaintext(body.span.bytes, signature: signature)
    let bytes = exposed(written)
    #expect(bytes == scene.parts.plaintext(signature: signature))
    #expect(try head.signedDigest(body.span.bytes) == signedDigest(scene.parts))
  }

  private func signedDigest(_ parts: LetterParts) throws -> Digest {
    var hash = try DomainHash("vault/parcel-signature/v1")
    let times = [bigEndian(parts.createdAt), bigEndian(parts.expiresAt)]
    for part in [try parts.id] + times + [parts.sender, parts.recipient, bigEndian(UInt64(parts.kind))] {
      hash.append(part)
    }
    for part in [parts.inReplyTo, parts.replyKey, parts.body] { hash.append(part) }
    return hash.digest()
  }

  @Test("is opened by nobody else")
  func anotherRecipient() throws {
    let scene = try Scene()
    let other = try Identity.generate()
    #expect(scene.refusal(try scene.sealed(), by: other) == .foreignParcel("tag"))
    // Whoever carries it may write any tag, and still the box is another's.
    let parcel = try scene.sealed()
    let retagged = try Parcel(
      id: parcel.id, tag: Parcel.tag(of: parcel.id, for: other.keys.digest), expiresAt: parcel.expiresAt,
      sealed: parcel.sealed)
    #expect(scene.refusal(retagged, by: other) == .foreignParcel("box"))
  }

  @Test("isn't taken when its recipient seals it anew for somebody else")
  func sealedAnew() throws {
    let scene = try Scene()
    let other = try Identity.generate()
    #expect(scene.refusal(try scene.sealed(to: other), by: other) == .foreignParcel("recipient"))
  }

  @Test("isn't taken from somebody who is no peer, or who passes for one")
  func anotherSender() throws {
    let stranger = try Identity.generate()
    let scene = try Scene()
    #expect(scene.refusal(try scene.sealed(by: stranger)) == .foreignParcel("signature"))
    let named = try Scene.refusal { $0.parts.sender = stranger.keys.digest.bytes }
    #expect(named == .foreignParcel("sender"))
    let parcel = try scene.sealed()
    let wrongKeys = protocolError { () throws(ProtocolError) in
      _ = try ParcelLetter.open(parcel, with: scene.recipient) { _ in stranger.keys }
    }
    #expect(wrongKeys == .foreignParcel("sender"))
  }

  @Test("passes on what the look for its sender throws")
  func lookupFails() throws {
    let scene = try Scene()
    let parcel = try scene.sealed()
    let error = protocolError { () throws(ProtocolError) in
      _ = try ParcelLetter.open(parcel, with: scene.recipient) { _ throws(ProtocolError) in
        throw .sodium(.outOfSecretMemory)
      }
    }
    #expect(error == .sodium(.outOfSecretMemory))
  }

  @Test("agrees with what stands outside of it")
  func outside() throws {
    #expect(try Scene.refusal { $0.outerID = try Randomness.bytes(16) } == .foreignParcel("id"))
    let expiry = try Scene.refusal { $0.outerExpiry = Int64($0.parts.expiresAt) + Parcel.hour }
    #expect(expiry == .foreignParcel("expiry"))
  }

  @Test("is refused when any signed part was changed")
  func signedParts() throws {
    let changes: [(inout LetterParts) throws -> Void] = [
      { $0.seed = try Randomness.bytes(32) }, { $0.createdAt -= 1 },
      { $0.expiresAt += UInt64(Parcel.hour) }, { $0.replyKey = try AgreementKeyPair.generate().publicKey },
      { $0.frames[1] = try ParcelFrame(Ping(request: 8)) }, { $0.frames.removeLast() }, { $0.frames.swapAt(0, 1) },
      {
        $0.kind = 2
        $0.inReplyTo = try Randomness.bytes(16)
        $0.replyKey = [UInt8](repeating: 0, count: 32)
      },
    ]
    for change in changes { #expect(try Scene.refusalUnsigned(change) == .foreignParcel("signature")) }
    let answer: (inout LetterParts) throws -> Void = {
      $0.kind = 2
      $0.inReplyTo = try Randomness.bytes(16)
      $0.replyKey = [UInt8](repeating: 0, count: 32)
    }
    var scene = try Scene()
    try answer(&scene.parts)
    #expect(scene.refusal(try scene.sealed()) == nil)
    let signature = try scene.parts.signature(of: scene.sender)
    scene.parts.inReplyTo = try Randomness.bytes(16)
    let plaintext = try secret(scene.parts.plaintext(signature: signature))
    let parcel = try ParcelLetter.seal(
      plaintext, id: #require(ParcelID(scene.parts.id)), expiresAt: Int64(scene.parts.expiresAt),
      to: scene.recipient.keys)
    #expect(scene.refusal(parcel) == .foreignParcel("signature"))
  }

  @Test("is refused when a bit of the box, or its last bytes, are others")
  func box() throws {
    let scene = try Scene()
    let parcel = try scene.sealed()
    for place in [0, 31, 32, 47, 48, Int.random(in: 48..<parcel.sealed.count), parcel.sealed.count - 1] {
      var sealed = parcel.sealed
      sealed[place] ^= UInt8(1) << UInt8.random(in: 0...7)
      let changed = try Parcel(id: parcel.id, tag: parcel.tag, expiresAt: parcel.expiresAt, sealed: sealed)
      #expect(scene.refusal(changed) == .foreignParcel("box"), "byte \(place)")
    }
  }

  @Test("has no part with a value that means nothing")
  func meaning() throws {
    #expect(try Scene.refusal { $0.parts.label[0] ^= 1 } == invalid("letter label"))
    #expect(try Scene.refusal { $0.parts.kind = 0 } == invalid("letter kind"))
    #expect(try Scene.refusal { $0.parts.kind = 4 } == invalid("letter kind"))
    #expect(try Scene.refusal { $0.parts.kind = 2 } == invalid("letter in reply to"))
    #expect(try Scene.refusal { $0.parts.inReplyTo[15] = 1 } == invalid("letter in reply to"))
    let zeros = [UInt8](repeating: 0, count: 32)
    #expect(try Scene.refusal { $0.parts.replyKey = zeros } == invalid("letter reply key"))
    // Of small order, and not canonical.
    #expect(try Scene.refusal { $0.parts.replyKey = [1] + zeros.dropLast() } == invalid("letter reply key"))
    #expect(try Scene.refusal { $0.parts.replyKey[31] |= 0x80 } == invalid("letter reply key"))
    let answerWithKey = try Scene.refusal {
      $0.parts.kind = 2
      $0.parts.inReplyTo[3] = 1
    }
    #expect(answerWithKey == invalid("letter reply key"))
    #expect(try Scene.refusal { $0.parts.createdAt = .max } == invalid("letter creation"))
    #expect(try Scene.refusal { $0.parts.createdAt = 1 << 48 + 1 } == invalid("letter creation"))
  }

  @Test("lives for at most 31 days, and not less than no time")
  func lifetime() throws {
    func refusal(_ createdAt: Int64, _ expiresAt: Int64) throws -> ProtocolError? {
      try Scene.refusal {
        $0.parts.createdAt = UInt64(createdAt)
        $0.parts.expiresAt = UInt64(expiresAt)
      }
    }
    let expiry = 1000 * Parcel.hour
    #expect(try refusal(expiry - Parcel.lifetimeLimit, expiry) == nil)
    #expect(try refusal(expiry - Parcel.lifetimeLimit - 1, expiry) == invalid("letter lifetime"))
    #expect(try refusal(expiry - 1, expiry) == nil)
    #expect(try refusal(expiry, expiry) == invalid("letter lifetime"))
  }

  @Test("expires at a whole hour, not before its time, and within what is taken")
  func expiry() throws {
    for _ in 0..<100 {
      let createdAt = Int64.random(in: 0...(1 << 47))
      let lifetime = Int64.random(in: 1...(30 * 24 * Parcel.hour))
      let expiry = Parcel.expiry(createdAt: createdAt, lifetime: lifetime)
      #expect(expiry.isMultiple(of: Parcel.hour))
      #expect((lifetime..<(lifetime + Parcel.hour)).contains(expiry - createdAt))
    }
    #expect(Parcel.expiry(createdAt: 5, lifetime: .max) <= 5 + Parcel.lifetimeLimit)
    #expect(Parcel.expiry(createdAt: .max, lifetime: .min) > 0)
  }

  @Test("is padded with zeros to the next power of two, and no further")
  func padding() throws {
    let scene = try Scene()
    let due = 1024 - 48 - 4 - front(scene)
    for place in [0, due / 2, due - 1] {
      let refusal = try Scene.refusal {
        var padding = [UInt8](repeating: 0, count: due)
        padding[place] = 1
        $0.parts.padding = padding
      }
      #expect(refusal == invalid("letter padding"))
    }
    let oneClassMore = try Scene.refusal { $0.parts.padding = [UInt8](repeating: 0, count: due + 1024) }
    #expect(oneClassMore == invalid("letter padding"))
  }

  /// Bytes up to the padding's length.
  private func front(_ scene: Scene) -> Int { scene.parts.fields.reduce(64) { $0 + $1.1.count } }

  @Test("is refused when it ends early or late")
  func ends() throws {
    let scene = try Scene()
    let whole = scene.parts.plaintext(signature: try scene.parts.signature(of: scene.sender))
    for _ in 0..<50 {
      let short = Array(whole.prefix(.random(in: 0..<whole.count)))
      let error = wireError { () throws(WireError) in _ = try LetterHead.read(short.span.bytes) }
      guard case .truncated = error else {
        Issue.record("\(short.count) bytes: \(String(describing: error))")
        continue
      }
    }
    let long = whole + [0]
    let error = wireError { () throws(WireError) in _ = try LetterHead.read(long.span.bytes) }
    #expect(error == .trailingBytes(count: 1))
  }

  @Test("takes the size that its contents need, from 1 KiB to 8 MiB")
  func sizes() throws {
    // What is around the frames: 298 bytes, of them 48 of the box.
    for (count, size) in [
      (1, 1024), (726, 1024), (727, 2048), (1750, 2048), (1751, 4096), (ParcelLetter.bodyLimit, 1 << 23),
    ] {
      #expect(LetterHead.sealedByteCount(bodyByteCount: count) == size, "\(count)")
    }
    let (sender, recipient) = (try Identity.generate(), try Identity.generate())
    let replyKey = try AgreementKeyPair.generate().publicKey
    // One byte of version and six in front of each frame.
    for (count, size) in [(719, 1024), (720, 2048)] {
      let parcel = try ParcelLetter.seal(
        seed: .fresh(), createdAt: 1, expiresAt: Parcel.hour, kind: .request, replyKey: replyKey,
        frames: [ParcelFrame(type: 0x7777, bytes: [UInt8](repeating: 1, count: count))], from: sender,
        to: recipient.keys)
      #expect(parcel.sealed.count == size)
      let letter = try ParcelLetter.open(parcel, with: recipient) { _ in sender.keys }
      #expect(letter.frames.first?.bytes.count == count)
    }
  }
}

@Suite("A parcel, as carriers see it")
struct ParcelTests {
  private func parcel() throws -> Parcel { try Scene().sealed() }

  private func refusal(_ bytes: [UInt8]) -> WireError? {
    wireError { () throws(WireError) in _ = try Parcel.decode(bytes, limit: Parcel.byteLimit) }
  }

  @Test("has one encoding, and is refused cut short or with bytes behind it")
  func encoding() throws {
    let parcel = try parcel()
    let bytes = try parcel.encoded()
    #expect(bytes.count == parcel.encodedByteCount)
    #expect(try Parcel.decode(bytes, limit: Parcel.byteLimit) == parcel)
    for count in 0..<bytes.count {
      guard case .truncated = refusal(Array(bytes.prefix(count))) else {
        Issue.record("\(count) bytes were not refused as cut short")
        continue
      }
    }
    #expect(refusal(bytes + [0]) == .trailingBytes(count: 1))
  }

  @Test("is refused with values that mean nothing")
  func values() throws {
    let bytes = try parcel().encoded()
    func changed(_ place: Int, _ new: [UInt8]) -> WireError? {
      refusal(Array(bytes.prefix(place)) + new + bytes.dropFirst(place + new.count))
    }
    #expect(changed(0, [2]) == .unsupported(field: "parcel version", value: 2))
    #expect(changed(1, [UInt8](repeating: 0, count: 16)) == .invalidValue(field: "parcel id"))
    for expiry in [0, 1, UInt64(Parcel.hour) - 1, UInt64(Parcel.hour) + 1, 1 << 48, .max] {
      #expect(changed(33, bigEndian(expiry)) == .invalidValue(field: "parcel expiry"), "\(expiry)")
    }
    #expect(changed(33, bigEndian(UInt64(Parcel.hour))) == nil)
    for hops in [UInt8(9), 255] { #expect(changed(41, [hops]) == .invalidValue(field: "parcel hops")) }
    for count in [UInt32(0), 1, 512, 1023, 1025, 1536] {
      #expect(changed(42, bigEndian(count)) == .invalidValue(field: "parcel size"), "\(count)")
    }
    let tooMuch = WireError.limitExceeded(field: "parcel contents", limit: 1 << 23)
    for count in [UInt32(1 << 23) + 1, 1 << 24, .max] { #expect(changed(42, bigEndian(count)) == tooMuch) }
  }

  @Test("can be as large as 8 MiB")
  func largest() throws {
    let parcel = try Parcel(
      id: .fresh(), tag: Randomness.bytes(16), expiresAt: Parcel.hour, sealed: [UInt8](repeating: 7, count: 1 << 23))
    let bytes = try parcel.encoded()
    #expect(bytes.count == Parcel.byteLimit)
    #expect(try Parcel.decode(bytes, limit: Parcel.byteLimit) == parcel)
  }

  @Test("opens whatever became of its hops")
  func hops() throws {
    let scene = try Scene()
    let parcel = try scene.sealed()
    #expect(parcel.hops == 8)
    for hops in UInt8(0)...8 {
      let handedOn = try Parcel(
        id: parcel.id, tag: parcel.tag, expiresAt: parcel.expiresAt, hops: hops, sealed: parcel.sealed)
      #expect(scene.refusal(handedOn) == nil)
    }
  }

  @Test("is for one card, and its tag says nothing of the next one for the same")
  func tag() throws {
    let card = try randomDigest()
    let (one, other) = (try ParcelID.fresh(), try ParcelID.fresh())
    let tag = try Parcel.tag(of: one, for: card)
    #expect(tag.count == Parcel.tagByteCount)
    #expect(try tag != Parcel.tag(of: other, for: card))
    #expect(try tag != Parcel.tag(of: one, for: randomDigest()))
    let parcel = try Parcel(
      id: one, tag: tag, expiresAt: Parcel.hour, sealed: [UInt8](repeating: 0, count: 1024))
    #expect(parcel.isFor(card))
    #expect(!parcel.isFor(try randomDigest()))
  }

  @Test("has a name of 16 bytes that aren't all zero")
  func names() throws {
    for count in [0, 15, 17] { #expect(ParcelID([UInt8](repeating: 1, count: count)) == nil) }
    #expect(ParcelID([UInt8](repeating: 0, count: 16)) == nil)
    let bytes = [UInt8](repeating: 0, count: 15) + [1]
    #expect(ParcelID(bytes)?.description == String(repeating: "00", count: 15) + "01")
  }
}

@Suite("What proofs in a parcel are bound to")
struct ParcelBindingTests {
  @Test("is known to its sender before the letter is made, and to its recipient from the letter")
  func same() throws {
    let scene = try Scene()
    let letter = try ParcelLetter.open(scene.sealed(), with: scene.recipient) { _ in scene.sender.keys }
    let ahead = try ParcelLetter.binding(
      id: letter.id, createdAt: Int64(scene.parts.createdAt), expiresAt: Int64(scene.parts.expiresAt),
      sender: scene.sender.keys.digest, recipient: scene.recipient.keys.digest, replyKey: scene.parts.replyKey)
    #expect(try letter.binding() == ahead)
  }

  @Test("is another one if any part is")
  func differs() throws {
    let (ids, cards) = (try [ParcelID.fresh(), .fresh()], try [randomDigest(), randomDigest(), randomDigest()])
    let keys = try [AgreementKeyPair.generate().publicKey, AgreementKeyPair.generate().publicKey]
    let bindings = try [
      ParcelLetter.binding(
        id: ids[0], createdAt: 1, expiresAt: 2, sender: cards[0], recipient: cards[1], replyKey: keys[0]),
      ParcelLetter.binding(
        id: ids[1], createdAt: 1, expiresAt: 2, sender: cards[0], recipient: cards[1], replyKey: keys[0]),
      ParcelLetter.binding(
        id: ids[0], createdAt: 2, expiresAt: 2, sender: cards[0], recipient: cards[1], replyKey: keys[0]),
      ParcelLetter.binding(
        id: ids[0], createdAt: 1, expiresAt: 3, sender: cards[0], recipient: cards[1], replyKey: keys[0]),
      ParcelLetter.binding(
        id: ids[0], createdAt: 1, expiresAt: 2, sender: cards[2], recipient: cards[1], replyKey: keys[0]),
      ParcelLetter.binding(
        id: ids[0], createdAt: 1, expiresAt: 2, sender: cards[0], recipient: cards[2], replyKey: keys[0]),
      ParcelLetter.binding(
        id: ids[0], createdAt: 1, expiresAt: 2, sender: cards[1], recipient: cards[0], replyKey: keys[0]),
      ParcelLetter.binding(
        id: ids[0], createdAt: 1, expiresAt: 2, sender: cards[0], recipient: cards[1], replyKey: keys[1]),
      ParcelLetter.binding(
        id: ids[0], createdAt: 1, expiresAt: 2, sender: cards[0], recipient: cards[1], replyKey: nil),
    ]
    #expect(Set(bindings).count == bindings.count)
  }
}
