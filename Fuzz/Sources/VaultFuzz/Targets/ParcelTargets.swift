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
        letter.frames == example.parts.frames && letter.seed.bytes == example.parts.seed && letter.id == parcel.id
          && letter.expiresAt == parcel.expiresAt, "a letter that opens is the one that was sealed")
      return true
    },
    // The letter before its signature is the input: it is signed, padded and sealed first.
    FuzzTarget("parcel-letter", upTo: 20_000) { input in
      let (head, body) = try letter(input)
      let parcel = try sealed(head, body)
      guard head.kind != .message else { return try openMessage(parcel, head, body) }
      let frames = try ParcelFrame.frames(of: body.span.bytes)
      require((try? ParcelFrame.body(frames)) == body, "frames encode to the bytes they were read from")
      let letter = try open(parcel)
      require(
        letter.id == head.id && letter.seed == head.seed && letter.sender == example.bob.keys.digest
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
          seed: letter.seed, createdAt: letter.createdAt, expiresAt: letter.expiresAt, kind: letter.kind,
          inReplyTo: letter.inReplyTo, replyKey: letter.replyKey, frames: letter.frames, from: example.bob,
          to: example.cay.keys)
      }
      require(again.sealed.count == parcel.sealed.count, "a letter that was read can be written")
      return true
    },
    // What a peer writes, as it lies in its letter.
    FuzzTarget("message-content", upTo: 20_000) { input in
      let content = try MessageContent.decode(input.span.bytes)
      let again = prepared { try content.encoded() }
      require(exposed(again) == input, "a message encodes to the bytes it was read from")
      check(content)
      return true
    },
  ]

  private static func check(_ content: MessageContent) {
    switch content {
    case .text(let text):
      require((1...MessageText.byteLimit).contains(text.text.count), "a text is neither empty nor long")
      require(String(validating: exposed(text.text), as: UTF8.self) != nil, "a text is a text")
      require(text.address.map { (1...512).contains($0.utf8.count) } ?? true, "an address is short")
    case .part(let part):
      let file = part.file
      require(part.number < part.count && Int(part.count) <= MessagePart.countLimit, "a part is one of its file's")
      require(part.bytes.count == file.partByteCount(Int(part.number)), "a part has the length that its place gives it")
      require((0..<file.partCount).reduce(0) { $0 + file.partByteCount($1) } == file.byteCount, "parts make a file")
      require(!file.name.contains("/") && file.name != ".." && !file.name.isEmpty, "a name leads nowhere")
      require(part.caption == nil || part.number == 0, "a caption comes with the first part")
    case .receipts(let receipts):
      require((1...128).contains(receipts.delivered.count + receipts.read.count), "receipts are few")
    case .probe: break
    }
  }

  private static func openMessage(_ parcel: Parcel, _ head: LetterHead, _ body: [UInt8]) throws -> Bool {
    let opened = try ParcelLetter.openAny(parcel, with: example.cay) {
      $0 == example.bob.keys.digest ? example.bob.keys : nil
    }
    guard case .message(let letter) = opened else { violated("a message is opened as a message") }
    require(
      letter.seed == head.seed && letter.id == parcel.id && letter.expiresAt == parcel.expiresAt
        && letter.sender == example.bob.keys.digest, "a message says what was signed")
    let again = prepared { try letter.content.encoded() }
    require(exposed(again) == body, "a message encodes to the bytes it was read from")
    return true
  }

  private static func open(_ parcel: Parcel) throws(ProtocolError) -> ParcelLetter {
    try ParcelLetter.open(parcel, with: example.cay) { $0 == example.bob.keys.digest ? example.bob.keys : nil }
  }

  /// The letter that the input is, with zeros for a signature.
  private static func letter(_ input: [UInt8]) throws -> (LetterHead, [UInt8]) {
    let front = input + [UInt8](repeating: 0, count: Ed25519.signatureByteCount)
    var size = Parcel.sealedByteMinimum
    while size < front.count + 4 + X25519.sealOverhead { size *= 2 }
    let padding = size - X25519.sealOverhead - 4 - front.count
    let plaintext = front + bigEndian(UInt32(padding)) + [UInt8](repeating: 0, count: padding)
    let reading = try LetterHead.read(plaintext.span.bytes)
    let body = Array(plaintext[reading.body])
    let written = prepared {
      try reading.head.plaintext(body.span.bytes, signature: [UInt8](repeating: 0, count: 64))
    }
    require(exposed(written) == plaintext, "a letter encodes to the bytes it was read from")
    return (reading.head, body)
  }

  private static func sealed(_ head: LetterHead, _ body: [UInt8]) throws -> Parcel {
    let signature = prepared { try example.bob.sign(head.signedDigest(body.span.bytes)) }
    let plaintext = prepared { try head.plaintext(body.span.bytes, signature: signature) }
    return try ParcelLetter.seal(plaintext, id: head.id, expiresAt: head.expiresAt, to: example.cay.keys)
  }
}
