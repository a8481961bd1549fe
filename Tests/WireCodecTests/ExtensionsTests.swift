import Foundation
import Testing
import WireCodec

@Suite("The extension section")
struct ExtensionsTests {
  private func decode(_ entries: [UInt8]) throws(WireError) -> Extensions {
    try Extensions.decode([UInt8(entries.count >> 8), UInt8(entries.count & 255)] + entries, limit: 10_000)
  }

  @Test("is in ascending order of type, however it was filled")
  func order() throws {
    var encodings: Set<[UInt8]> = []
    for _ in 0..<20 {
      var extensions = Extensions()
      for type in ([1, 2, 256, 65_535] as [UInt16]).shuffled() { extensions[type] = [UInt8(type & 255)] }
      encodings.insert(try extensions.encoded())
      #expect(try Extensions.decode(extensions.encoded(), limit: 100) == extensions)
    }
    #expect(encodings.count == 1)
  }

  @Test("is refused in another order, with a type twice, or cut")
  func notCanonical() {
    #expect(throws: WireError.invalidValue(field: "extension order")) { try decode([0, 3, 0, 0, 0, 1, 0, 0]) }
    #expect(throws: WireError.invalidValue(field: "extension order")) { try decode([0, 3, 0, 0, 0, 3, 0, 0]) }
    #expect(throws: WireError.truncated(field: "extension type")) { try decode([0]) }
    #expect(throws: WireError.truncated(field: "extension")) { try decode([0, 3, 0]) }
    #expect(throws: WireError.truncated(field: "extension")) { try decode([0, 3, 0, 1]) }
    #expect(throws: WireError.truncated(field: "extensions")) { try Extensions.decode([0, 1], limit: 10) }
    #expect(throws: WireError.limitExceeded(field: "extensions", limit: 4096)) {
      try Extensions.decode([0x10, 1], limit: 10)
    }
  }

  @Test("holds at most 4096 bytes")
  func limit() throws {
    var extensions = Extensions()
    extensions[1] = [UInt8](repeating: 7, count: 4092)
    #expect(try extensions.encoded().count == 4098)
    extensions[1] = [UInt8](repeating: 7, count: 4093)
    #expect(throws: WireError.limitExceeded(field: "extensions", limit: 4096)) { try extensions.encoded() }
  }

  @Test("an even type must be known, an odd one may be ignored and is kept")
  func understanding() throws {
    let extensions = try decode([0, 3, 0, 1, 9, 0, 4, 0, 0])
    #expect(extensions[3] == [9])
    #expect(throws: WireError.unsupported(field: "extension", value: 4)) { try extensions.require() }
    try extensions.require(known: [4])
    try decode([0, 3, 0, 0, 0, 5, 0, 0]).require()
  }

  @Test("entries can be replaced and taken out")
  func editing() throws {
    var extensions = Extensions()
    extensions[5] = [1]
    extensions[5] = [2]
    #expect(extensions[5] == [2])
    extensions[5] = nil
    #expect(extensions == Extensions())
    #expect(try extensions.encoded() == [0, 0])
  }

  @Test("random sections never trap, and what is accepted encodes to the same bytes")
  func randomSections() throws {
    for _ in 0..<5000 {
      let bytes = (0..<Int.random(in: 0...24)).map { _ in UInt8.random(in: 0...4) }
      guard let extensions = try? Extensions.decode(bytes, limit: 100) else { continue }
      #expect(try extensions.encoded() == bytes)
    }
  }

  @Test("the example in docs/formats/wire.md is what this code writes")
  func documentedExample() throws {
    let document = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/formats/wire.md")
    let text = try String(contentsOf: document, encoding: .utf8).filter { !$0.isWhitespace }
    var extensions = Extensions()
    extensions[3] = [0xaa]
    extensions[256] = []
    let encoded = try extensions.encoded().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    #expect(text.contains("`\(encoded)`"))
  }
}
