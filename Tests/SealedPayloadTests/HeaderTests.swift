@testable import SealedPayload
import Sodium
import Testing
import WireCodec

@Suite("The typed inner header")
struct HeaderTests {
  private func text(_ span: borrowing RawSpan) -> String {
    span.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  private func value(of name: String, in header: borrowing PayloadHeader) -> [UInt8]? {
    guard let value = header.field(name) else { return nil }
    return value.withUnsafeBytes { Array($0) }
  }

  private func encoding(_ header: borrowing PayloadHeader) -> [UInt8] { header.bytes.withUnsafeBytes { Array($0) } }

  /// Puts a header's parts behind the right length.
  private func encoded(_ parts: [UInt8]) -> [UInt8] { [UInt8(parts.count >> 8), UInt8(parts.count & 255)] + parts }

  /// What a header of these bytes parses to, encoded again.
  private func parse(_ bytes: [UInt8]) throws(PayloadError) -> [UInt8] {
    encoding(try PayloadHeader(from: bytes.span.bytes))
  }

  @Test("a duplicate is the same header and independent")
  func duplicate() throws {
    var header = try PayloadHeader(kind: .contact, fileName: Array("a".utf8).span.bytes, mediaType: "text/vcard")
    let before = encoding(header)
    let copy = try header.duplicate()
    try header.add(field: "late", value: [1].span.bytes)
    let (copied, changed) = (encoding(copy), encoding(header))
    #expect(copied == before && changed != before)
  }

  @Test("comes back through seal and open, for every kind", arguments: PayloadKind.allCases)
  func throughSealing(kind: PayloadKind) throws {
    var header = try PayloadHeader(
      kind: kind, fileName: Array("Übung.pdf".utf8).span.bytes, mediaType: "application/pdf")
    try header.add(field: "user", value: Array("alice".utf8).span.bytes)
    try header.add(field: "password", value: ([0, 255, 10] as [UInt8]).span.bytes)
    let sealer = try PayloadSealer(key: testKey(), header: header, bodyByteCount: 3)
    let ciphertext = try drain(sealer, body: [1, 2, 3])
    var opener = try PayloadOpener(key: testKey(), ciphertextByteCount: UInt64(ciphertext.count))
    var body: [UInt8] = []
    _ = try ciphertext.withUnsafeBytes { try opener.append($0) { body += $0 } }
    try opener.finishUnsafe { body += $0 }
    let bodyByteCount = opener.bodyByteCount
    #expect(body == [1, 2, 3] && bodyByteCount == 3)
    let seen = opener.withHeader { seen in
      (
        seen.kind, text(seen.fileName), seen.mediaType, seen.fieldNames, value(of: "password", in: seen), encoding(seen)
      )
    }
    let found = try #require(seen)
    #expect(found.0 == kind)
    #expect(found.1 == "Übung.pdf")
    #expect(found.2 == "application/pdf")
    #expect(found.3 == ["password", "user"])
    #expect(found.4 == [0, 255, 10])
    #expect(found.5 == encoding(header))
  }

  @Test("has one encoding, whatever the order in which fields are added")
  func canonicalOrder() throws {
    let names = ["b", "a", "ab", "é", "Z", "e\u{301}", "b.c"]
    var encodings: Set<[UInt8]> = []
    for _ in 0..<20 {
      var header = try PayloadHeader(kind: .password)
      for name in names.shuffled() { try header.add(field: name, value: Array("=\(name)".utf8).span.bytes) }
      for name in names {
        let found = value(of: name, in: header)
        #expect(found == Array("=\(name)".utf8))
      }
      #expect(try parse(encoding(header)) == encoding(header))
      encodings.insert(encoding(header))
    }
    #expect(encodings.count == 1)
  }

  @Test("finds no field that isn't there, and takes no name twice")
  func lookup() throws {
    var header = try PayloadHeader(kind: .contact)
    try header.add(field: "mail", value: RawSpan())
    let before = encoding(header)
    #expect(throws: PayloadError.duplicateField) { try header.add(field: "mail", value: ([1] as [UInt8]).span.bytes) }
    #expect(encoding(header) == before)
    let (present, absent, other) = (header.field("mail") != nil, header.field("Mail") != nil, header.field("") != nil)
    #expect(present && !absent && !other)
  }

  @Test("is limited: file name 1024 bytes, media type 255, field name 1 to 64, 64 fields, 32 KiB altogether")
  func limits() throws {
    _ = try PayloadHeader(kind: .file, fileName: pattern(1024).span.bytes).byteCount
    #expect(throws: PayloadError.headerTooLarge) {
      _ = try PayloadHeader(kind: .file, fileName: pattern(1025).span.bytes).byteCount
    }
    _ = try PayloadHeader(kind: .file, mediaType: String(repeating: "a", count: 255)).byteCount
    #expect(throws: PayloadError.headerTooLarge) {
      _ = try PayloadHeader(kind: .file, mediaType: String(repeating: "a", count: 256)).byteCount
    }

    var many = try PayloadHeader(kind: .note)
    try many.add(field: String(repeating: "n", count: 64), value: RawSpan())
    #expect(throws: PayloadError.headerTooLarge) {
      try many.add(field: String(repeating: "n", count: 65), value: RawSpan())
    }
    #expect(throws: PayloadError.wire(.invalidValue(field: "field name"))) { try many.add(field: "", value: RawSpan()) }
    for number in 1..<64 { try many.add(field: "\(number)", value: RawSpan()) }
    #expect(throws: PayloadError.headerTooLarge) { try many.add(field: "64", value: RawSpan()) }
    #expect(try parse(encoding(many)) == encoding(many))

    var large = try PayloadHeader(kind: .note)
    let room = PayloadHeader.byteLimit - large.byteCount - 4 - 1
    #expect(throws: PayloadError.headerTooLarge) { try large.add(field: "x", value: pattern(room + 1).span.bytes) }
    try large.add(field: "x", value: pattern(room).span.bytes)
    let count = large.byteCount
    #expect(count == PayloadHeader.byteLimit)
    let sealer = try PayloadSealer(key: testKey(), header: large, bodyByteCount: 100_000)
    #expect(try open(drain(sealer, body: pattern(100_000))) == pattern(100_000))
  }

  @Test("takes only printable ASCII as media type", arguments: ["text plain", "text/pl\u{e4}in", "a\n", "\u{7f}"])
  func mediaType(_ mediaType: String) {
    #expect(throws: PayloadError.wire(.invalidValue(field: "media type"))) {
      _ = try PayloadHeader(kind: .file, mediaType: mediaType).byteCount
    }
  }

  @Test("is refused when it isn't canonical or not understood")
  func refused() throws {
    let good = encoded([1, 2, 0, 0, 0, 0, 0, 2, 0, 1, 0x61, 0, 1, 9, 0, 1, 0x62, 0, 0, 0, 0])
    #expect(try parse(good) == good)
    func expect(_ parts: [UInt8], _ error: WireError) {
      #expect(throws: PayloadError.wire(error)) { try parse(encoded(parts)) }
    }
    expect([2, 2, 0, 0, 0, 0, 0, 0, 0, 0], .unsupported(field: "header version", value: 2))
    expect([1, 0, 0, 0, 0, 0, 0, 0, 0, 0], .unsupported(field: "payload kind", value: 0))
    expect([1, 6, 0, 0, 0, 0, 0, 0, 0, 0], .unsupported(field: "payload kind", value: 6))
    expect([1, 1, 4, 1, 0, 0, 0, 0, 0, 0], .limitExceeded(field: "file name", limit: 1024))
    expect([1, 1, 0, 9, 0, 0, 0, 0, 0, 0], .truncated(field: "file name"))
    expect([1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0], .invalidValue(field: "media type"))
    expect([1, 1, 0, 0, 0, 0, 0, 65, 0, 0], .limitExceeded(field: "fields", limit: 64))
    expect([1, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0], .invalidValue(field: "field name"))
    expect([1, 2, 0, 0, 0, 0, 0, 1, 0, 1, 0xff, 0, 0, 0, 0], .invalidValue(field: "field name"))
    expect([1, 2, 0, 0, 0, 0, 0, 2, 0, 1, 0x62, 0, 0, 0, 1, 0x61, 0, 0, 0, 0], .invalidValue(field: "field order"))
    expect([1, 2, 0, 0, 0, 0, 0, 2, 0, 1, 0x61, 0, 0, 0, 1, 0x61, 0, 0, 0, 0], .invalidValue(field: "field order"))
    expect([1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 7], .trailingBytes(count: 1))
    expect([1, 2, 0, 0, 0, 0, 0, 0, 0, 4, 0, 2, 0, 0], .unsupported(field: "extension", value: 2))
    expect([1, 2, 0, 0, 0, 0, 0, 0, 0, 8, 0, 3, 0, 0, 0, 1, 0, 0], .invalidValue(field: "extension order"))
    expect([1, 2, 0, 0, 0, 0, 0, 0, 0, 5, 0, 3, 0, 2, 9], .truncated(field: "extension"))
    expect([1, 2, 0, 0, 0, 0, 0, 0, 0x10, 1], .limitExceeded(field: "extensions", limit: 4096))
  }

  @Test("keeps an extension it needn't understand, also when a field is added")
  func oddExtension() throws {
    let bytes = encoded([1, 2, 0, 0, 0, 0, 0, 0, 0, 6, 0, 7, 0, 2, 8, 9])
    #expect(try parse(bytes) == bytes)
    var header = try PayloadHeader(from: bytes.span.bytes)
    try header.add(field: "a", value: ([5] as [UInt8]).span.bytes)
    #expect(encoding(header) == encoded([1, 2, 0, 0, 0, 0, 0, 1, 0, 1, 0x61, 0, 1, 5, 0, 6, 0, 7, 0, 2, 8, 9]))
  }

  @Test("of random or randomly changed bytes never traps, and what is accepted is canonical")
  func randomBytes() throws {
    var random = SystemRandomNumberGenerator()
    let good = encoded([1, 2, 0, 1, 0x6e, 0, 1, 0x74, 0, 2, 0, 1, 0x61, 0, 1, 9, 0, 1, 0x62, 0, 0, 0, 4, 0, 7, 0, 0])
    var accepted = 0
    for _ in 0..<4000 {
      var bytes = good
      if Bool.random(using: &random) {
        for _ in 0...Int.random(in: 0...2, using: &random) {
          bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: 0...255, using: &random)
        }
      } else {
        bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in .random(in: 0...8, using: &random) }
      }
      if let again = try? parse(bytes) {
        #expect(again.elementsEqual(bytes.prefix(again.count)))
        accepted += 1
      }
    }
    #expect(accepted > 0)
  }
}
