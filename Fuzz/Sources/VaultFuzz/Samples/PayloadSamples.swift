@testable import SealedPayload
import Sodium
import WireCodec

enum PayloadSamples {
  static func all() throws -> [Sample] {
    let name = Array("name.txt".utf8)
    var header = try PayloadHeader(kind: .file, fileName: name.span.bytes, mediaType: "text/plain")
    let plain = header.bytes.withUnsafeBytes { Array($0) }
    let value = Array("value".utf8)
    try header.add(field: "b", value: value.span.bytes)
    try header.add(field: "a", value: value.span.bytes)
    let fields = header.bytes.withUnsafeBytes { Array($0) }
    let body = many(0x62, 100)
    /// What lies in a payload: the layer byte, the length, the header and the body. The zeros behind come by themselves.
    func content(_ header: [UInt8], _ body: [UInt8], length: Int? = nil) -> [UInt8] {
      bigEndian(UInt64(length ?? header.count + body.count)) + header + body
    }
    let whole = content(plain, body)
    let lock = many(5, 32) + many(9, 32)
    // Choices: standard padding, the announced length is the true one, cut into pieces of 1001.
    let choices: [UInt8] = [1, 0, 3, 0xe8]
    let inside: [UInt8] = [1, 3, 0xe8]
    var padded = [0] + whole
    padded += many(0, 1025 - padded.count)
    let sealed = try PayloadTargets.seal(padded)
    let mediaType = 2 + 2 + 2 + name.count
    return Sample.of(
      "payload",
      [
        "valid-file": choices + sealed, "valid-in-small-pieces": [1, 0, 0, 6] + sealed,
        "truncated": choices + sealed.without(last: 1),
        "trailing-byte": choices + sealed + [0],
        "announced-longer": [1, 1, 16] + bigEndian(UInt64(9000)) + [3, 0xe8] + sealed,
        "announced-huge": [1, 1, 64] + many(0xff, 8) + [3, 0xe8] + sealed,
        "wrong-tag": choices + sealed.with(3, [sealed[3] ^ 1]),
        "other-padding": [0, 0, 3, 0xe8] + (try PayloadTargets.seal(padded + many(0, 30))), "empty": [],
        "tag-alone": choices + many(0, 16),
      ])
      + Sample.of(
        "payload-inside",
        [
          "valid-file": inside + [0] + whole, "valid-fields": inside + [0] + content(fields, body),
          "valid-compact": [0, 0, 6, 0] + whole,
          "valid-no-body": inside + [0] + content(plain, []),
          "valid-two-chunks": inside + [0] + content(plain, many(1, 70_000)),
          "padding-not-zero": inside + [0] + content(plain, body + [1], length: plain.count + body.count),
          "length-over-payload": inside + [0] + content(plain, body, length: 5000),
          "length-of-all-ones": inside + [0] + many(0xff, 8) + plain,
          "length-ends-in-header": inside + [0] + content(plain, [], length: 9), "unknown-layer": inside + [2] + whole,
          "locked-with-cost-14": inside + [1, 14] + many(0, 1100),
          "locked-with-cost-21": inside + [1, 21] + many(0, 1100),
          "locked-and-too-short": inside + [1, 15] + many(0, 30), "unpadded-length": inside + [7] + many(0, 999),
          "empty": [],
        ])
      + Sample.of(
        "payload-locked",
        [
          "valid-file": [1, 3, 0xe8, 0] + whole, "wrong-commitment": [1, 3, 0xe8, 201] + whole,
          "other-salt": [1, 3, 0xe8, 11] + whole,
          "no-header": [1, 3, 0xe8, 0], "padding-not-zero": [1, 3, 0xe8, 0] + content(plain, [1], length: plain.count),
          "other-layer-inside": [1, 3, 0xe8, 0] + [1] + lock,
        ])
      + Sample.of(
        "payload-header",
        [
          "valid-file": plain, "valid-fields": fields, "valid-followed-by-body": plain + body, "empty": [],
          "truncated": plain.without(last: 1),
          "valid-odd-extension": plain.with(0, [0, UInt8(plain.count + 4 - 2)]).without(last: 2) + [0, 4, 0, 1, 0, 0],
          "must-understand-extension": plain.with(0, [0, UInt8(plain.count + 4 - 2)]).without(last: 2) + [
            0, 4, 0, 2, 0, 0,
          ],
          "huge-length": plain.with(0, [0xff, 0xff]), "unknown-version": plain.with(2, [2]),
          "unknown-kind": plain.with(3, [99]),
          "huge-file-name": plain.with(4, [0xff, 0xff]), "media-type-with-space": plain.with(mediaType + 2, [0x20]),
          "huge-field-count": plain.with(plain.count - 4, [0xff, 0xff]),
          "fields-not-ascending": fields.with(fields.count - 20, [0x63]),
        ])
      + Sample.of(
        "suggested-name",
        texts: [
          "plain": "name.txt", "path": "../../etc/passwd", "windows-path": "C:\\Windows\\name", "dots": "...",
          "hidden": ".bashrc", "empty": "",
          "right-to-left": "txt.\u{202e}exe", "combining-slash": "a/\u{301}b", "zero-width": "\u{200b}\u{feff}",
          "long": String(repeating: "ä", count: 300),
          "long-character": "a" + String(repeating: "\u{301}", count: 300), "control": "a\u{1b}[2Jb",
          "blanks": "  a \u{a0}",
        ])
      + Sample.of(
        "padding",
        [
          "zero": [0], "minimum": [11, 0, 0, 0, 0, 0, 0, 4, 1], "limit": [61, 0x10], "over-limit": [64, 0xff],
          "empty": [],
        ])
  }
}
