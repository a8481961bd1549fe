import PeerAuth
import ShamirKit
import Sodium
@testable import VaultProtocol
import WireCodec

enum ParcelSamples {
  private static let example = ParcelTargets.example

  static func all() throws -> [Sample] { try parcels() + letters() + messages() + releases() }

  private static func parcel(_ change: (inout LetterParts) -> Void = { _ in }, by signer: Identity? = nil) throws
    -> Parcel
  {
    var parts = example.parts
    change(&parts)
    let plaintext = try secret(parts.plaintext(signature: parts.signature(of: signer ?? example.bob)))
    let id = try ParcelID.decode(example.parts.id, limit: ParcelID.byteCount)
    return try ParcelLetter.seal(
      plaintext, id: id, expiresAt: Int64(example.parts.expiresAt), to: example.cay.keys)
  }

  private static func parcels() throws -> [Sample] {
    let bytes = try parcel().encoded()
    let stranger = example.example.people[0]
    return Sample.of(
      "parcel",
      [
        "valid": bytes, "valid-of-no-hops": bytes.with(41, [0]), "valid-for-another": bytes.with(17, many(9, 16)),
        "valid-for-another-by-its-id": bytes.with(1, many(9, 16)), "empty": [], "truncated": bytes.without(last: 1),
        "trailing-byte": bytes + [0], "unknown-version": bytes.with(0, [2]), "id-of-zeros": bytes.with(1, many(0, 16)),
        "other-expiry": bytes.with(33, bigEndian(UInt64(example.parts.expiresAt) + UInt64(Parcel.hour))),
        "expiry-within-an-hour": bytes.with(33, bigEndian(UInt64(example.parts.expiresAt) + 1)),
        "expiry-zero": bytes.with(33, many(0, 8)), "expiry-huge": bytes.with(33, many(0xff, 8)),
        "nine-hops": bytes.with(41, [9]), "odd-size": bytes.without(last: 1).with(42, bigEndian(UInt32(1023))),
        "small-size": bytes.without(last: 512).with(42, bigEndian(UInt32(512))),
        "huge-size": bytes.with(42, many(0xff, 4)), "largest-size-of-nothing": bytes.with(42, [0, 0x80, 0, 0]),
        "damaged-box": bytes.with(bytes.count - 1, [bytes[bytes.count - 1] ^ 1]),
        "damaged-key-of-box": bytes.with(46, many(0, 32)),
        "signed-by-another": try parcel(by: stranger).encoded(),
        "from-a-stranger": try parcel({ $0.sender = stranger.keys.digest.bytes }, by: stranger).encoded(),
        "letter-to-another": try parcel({ $0.recipient = stranger.keys.digest.bytes }).encoded(),
        "letter-of-another-parcel": try parcel({ $0.seed = many(9, 32) }).encoded(),
        "padding-not-zero": try parcel({ parts in
          var padding = many(0, 1024 - 48 - 4 - 64 - parts.fields.reduce(0) { $0 + $1.1.count })
          padding[7] = 1
          parts.padding = padding
        }).encoded(),
        "padding-too-long": try parcel({ parts in
          parts.padding = many(0, 2048 - 48 - 4 - 64 - parts.fields.reduce(0) { $0 + $1.1.count })
        }).encoded(),
      ])
  }

  private static func letters() throws -> [Sample] {
    func letter(_ change: (inout LetterParts) -> Void = { _ in }) -> [UInt8] {
      var parts = example.parts
      change(&parts)
      return parts.fields.flatMap(\.1)
    }
    func answer(_ change: (inout LetterParts) -> Void = { _ in }) -> [UInt8] {
      letter {
        $0.kind = 2
        $0.inReplyTo = many(8, 16)
        $0.replyKey = many(0, 32)
        change(&$0)
      }
    }
    let text = try example.messages()[0].1
    func message(_ change: (inout LetterParts) -> Void = { _ in }) -> [UInt8] {
      letter {
        $0.kind = 3
        $0.replyKey = many(0, 32)
        $0.rawBody = text
        change(&$0)
      }
    }
    func frame(_ type: UInt16, _ count: Int) -> ParcelFrame { ParcelFrame(type: type, bytes: many(1, count)) }
    let others = example.example.people
    return Sample.of(
      "parcel-letter",
      [
        "valid-request": letter(), "valid-answer": answer(), "empty": [], "truncated": letter().without(last: 1),
        "trailing-byte": letter() + [0], "other-label": letter { $0.label[0] = 0x56 },
        "unknown-kind": letter { $0.kind = 4 },
        "huge-label": letter().with(0, [0xff, 0xff]), "valid-seed-of-zeros": letter { $0.seed = many(0, 32) },
        "valid-made-at-zero": letter {
          $0.createdAt = 0
          $0.expiresAt = UInt64(Parcel.hour)
        },
        "made-in-the-far-future": letter { $0.createdAt = .max },
        "expired-when-made": letter { $0.expiresAt = $0.createdAt },
        "expires-within-an-hour": letter { $0.expiresAt += 1 },
        "expires-after-32-days": letter { $0.expiresAt += UInt64(25 * 24 * Parcel.hour) },
        "from-another": letter { $0.sender = others[0].keys.digest.bytes },
        "to-another": letter { $0.recipient = others[0].keys.digest.bytes },
        "request-in-reply": letter { $0.inReplyTo = many(8, 16) },
        "answer-to-nothing": answer { $0.inReplyTo = many(0, 16) },
        "request-without-key": letter { $0.replyKey = many(0, 32) },
        "answer-with-key": answer { $0.replyKey = example.replyKey.publicKey },
        "key-of-small-order": letter { $0.replyKey = [1] + many(0, 31) },
        "key-not-canonical": letter { $0.replyKey = many(0xff, 32) },
        "no-frames": letter { $0.frames = [] }, "no-body": letter { $0.rawBody = [] },
        "unknown-body-version": letter { $0.bodyVersion = 2 },
        "huge-body": letter { $0.rawBody = [] }.with(178, many(0xff, 4)),
        "valid-512-frames": letter { $0.frames = [ParcelFrame](repeating: frame(3, 8), count: 512) },
        "513-frames": letter { $0.frames = [ParcelFrame](repeating: frame(3, 8), count: 513) },
        "goodbye": letter { $0.frames = [frame(0, 0)] }, "meeting": letter { $0.frames = [frame(0x3001, 13)] },
        "valid-message": message(), "message-in-reply": message { $0.inReplyTo = many(8, 16) },
        "message-with-key": message { $0.replyKey = example.replyKey.publicKey },
        "message-of-frames": message { $0.rawBody = nil }, "message-of-nothing": message { $0.rawBody = [] },
        "huge-message": message { $0.rawBody = [] }.with(178, [0, 0x10, 0, 1]),
        "release-in-the-clear": letter { $0.frames = [frame(0x0204, 105)] },
        "valid-frame-of-a-later-version": letter { $0.frames = [frame(0x7777, 1000)] },
        "frame-too-long": letter { $0.frames = [frame(3, 513)] },
        "frame-with-huge-length": letter { $0.rawBody = [1, 0, 3] + many(0xff, 4) },
        "frame-cut-short": letter { $0.rawBody = [1, 0, 3, 0, 0, 0, 8, 1] },
      ])
  }

  private static func messages() throws -> [Sample] {
    var samples: [Sample] = []
    for (name, bytes) in try example.messages() {
      samples += Sample.of(
        "message-content",
        [
          "valid-\(name)": bytes, "truncated-\(name)": bytes.without(last: 1), "trailing-byte-\(name)": bytes + [0],
        ])
    }
    func text(_ bytes: [UInt8], from address: String = "") -> [UInt8] {
      [1, 1] + many(8, 16) + Array(address.utf8).counted + bigEndian(UInt32(bytes.count)) + bytes
    }
    func part(
      kind: UInt8 = 1, name: [UInt8] = [0x61], mediaType: [UInt8] = [], length: UInt64 = 1, number: UInt16 = 0,
      count: UInt16 = 1, caption: [UInt8] = [], bytes: [UInt8] = [1]
    ) -> [UInt8] {
      let front = [1, 2] + many(8, 16) + [0, 0, kind] + name.counted + mediaType.counted + bigEndian(length)
      let place = many(9, 32) + bigEndian(number) + bigEndian(count) + bigEndian(UInt32(caption.count)) + caption
      return front + place + bigEndian(UInt32(bytes.count)) + bytes
    }
    let large = UInt64(MessagePart.byteLimit)
    return samples
      + Sample.of(
        "message-content",
        [
          "empty": [], "unknown-version": [2, 1], "unknown-content": [1, 5],
          "valid-probe": [1, 4], "trailing-byte-probe": [1, 4, 0], "text-of-nothing": text([]),
          "valid-text-without-address": text([0x61]), "text-with-nul": text([0x61, 0]),
          "text-not-utf8": text([0xc0, 0x80]), "text-of-half-a-surrogate": text([0xed, 0xa0, 0x80]),
          "text-too-long": text([0x61]).with(20, bigEndian(UInt32(65_537))),
          "text-with-huge-length": text([]).with(20, many(0xff, 4)),
          "address-of-two-lines": text([0x61], from: "a\nb"),
          "address-with-huge-length": text([]).with(18, [0xff, 0xff]),
          "valid-part": part(), "valid-empty-file": part(length: 0, bytes: []),
          "unknown-kind-of-file": part(kind: 3), "file-without-name": part(name: []),
          "file-with-folder": part(name: Array("a/b".utf8)), "file-that-is-a-folder": part(name: Array("..".utf8)),
          "file-name-of-two-lines": part(name: [0x61, 0x0a]), "file-name-too-long": part(name: many(0x61, 256)),
          "media-type-not-ascii": part(mediaType: [0xc3, 0xbc]),
          "media-type-too-long": part(mediaType: many(0x61, 128)),
          "file-too-long": part(length: 1 << 26 + 1, count: 65), "file-of-huge-length": part(length: .max, count: .max),
          "part-behind-the-last": part(number: 1), "part-of-another-count": part(count: 2),
          "part-shorter-than-its-place": part(length: large + 1, count: 2),
          "valid-last-part": part(length: large + 1, number: 1, count: 2),
          "caption-of-a-later-part": part(length: large + 1, number: 1, count: 2, caption: [0x61]),
          "caption-not-utf8": part(caption: [0xff]), "caption-too-long": part(caption: many(0x61, 4097)),
          "part-with-huge-length": part(bytes: []).with(part(bytes: []).count - 4, many(0xff, 4)),
          "no-receipts": [1, 3, 0, 0, 0, 0], "too-many-receipts": [1, 3, 0, 65], "too-many-read": [1, 3, 0, 0, 0, 65],
          "valid-one-read": [1, 3, 0, 0, 0, 1] + many(8, 16),
          "receipt-of-zeros": [1, 3, 0, 1] + many(0, 73) + [0, 0],
          "receipt-of-unknown-branch": [1, 3, 0, 1] + many(8, 73) + [0, 0],
        ])
  }

  private static func releases() throws -> [Sample] {
    let share = try KeyShare(index: 3, bytes: secret(example.example.shareBytes(3)))
    let salt = try secret(example.example.salts[2])
    func sealed(to key: [UInt8]) throws -> [UInt8] {
      try [0x10, 0x01] + SealedRelease.seal(request: WalkedExample.request, share: share, salt: salt, to: key)
    }
    let release = try sealed(to: example.replyKey.publicKey)
    return Sample.of(
      "message",
      [
        "valid-sealed-release": release, "truncated-sealed-release": release.without(last: 1),
        "trailing-byte-sealed-release": release + [0],
        "damaged-sealed-release": release.with(100, [release[100] ^ 1]),
        "sealed-release-to-another-key": try sealed(to: AgreementKeyPair.generate().publicKey),
      ])
  }
}
