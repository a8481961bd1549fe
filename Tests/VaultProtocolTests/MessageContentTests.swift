import Sodium
import Testing
import WireCodec

@testable import VaultProtocol

private let name = [UInt8](repeating: 9, count: 16)

private func refusal(_ bytes: [UInt8]) -> ProtocolError? {
  protocolError { () throws(ProtocolError) in _ = try MessageContent.decode(bytes.span.bytes) }
}

private func invalid(_ field: String) -> ProtocolError { .malformed(.invalidValue(field: field)) }

private func long(_ field: String, _ limit: Int) -> ProtocolError {
  .malformed(.limitExceeded(field: field, limit: limit))
}

private func text16(_ text: String) -> [UInt8] { bigEndian(UInt16(text.utf8.count)) + Array(text.utf8) }

/// A content read and written again.
private func again(_ content: MessageContent) throws -> MessageContent {
  let bytes = exposed(try content.encoded())
  let read = try MessageContent.decode(bytes.span.bytes)
  #expect(exposed(try read.encoded()) == bytes)
  for count in 0..<min(bytes.count, 600) {
    guard case .malformed(.truncated) = refusal(Array(bytes.prefix(count))) else {
      Issue.record("\(count) bytes were not refused as cut short")
      continue
    }
  }
  #expect(refusal(bytes + [0]) == .malformed(.trailingBytes(count: 1)))
  return read
}

@Suite("What a message says")
struct MessageContentTests {
  @Test("has a version and a kind that are known")
  func versions() throws {
    #expect(refusal([2]) == .malformed(.unsupported(field: "message version", value: 2)))
    for kind in [UInt8(0), 5, 255] { #expect(refusal([1, kind]) == invalid("message content")) }
    #expect(refusal([UInt8](repeating: 0, count: 1 << 20 + 1)) == long("message content", 1 << 20))
  }

  @Test("may be a text of any words")
  func text() throws {
    for (address, words) in [("a@b", "x"), (nil, "Zeile\neins\t\u{1f642}")] {
      let sent = try MessageText(message: name, address: address, text: held(words))
      guard case .text(let text) = try again(.text(sent)) else {
        Issue.record("no text")
        return
      }
      #expect(text.message == name && text.address == address)
      #expect(exposed(text.text) == Array(words.utf8))
    }
  }

  @Test("is a text of 1 to 65536 bytes of UTF-8 without NUL")
  func textRules() throws {
    func text(_ bytes: [UInt8]) -> [UInt8] { [1, 1] + name + [0, 0] + bigEndian(UInt32(bytes.count)) + bytes }
    func unwritten(_ bytes: [UInt8]) throws -> ProtocolError? {
      let words = try held(bytes)
      return protocolError { () throws(ProtocolError) in
        _ = try MessageText(message: name, address: nil, text: words)
      }
    }
    #expect(refusal(text([UInt8](repeating: 0x61, count: 65_536))) == nil)
    let broken: [[UInt8]] = [
      [], [0], [0x61, 0], [0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0xaf], [0xf4, 0x90, 0x80, 0x80],
    ]
    for wrong in broken {
      #expect(refusal(text(wrong)) == invalid("message text"), "\(wrong)")
      #expect(try unwritten(wrong) == invalid("message text"), "\(wrong)")
    }
    #expect(refusal([1, 1] + name + [0, 0] + bigEndian(UInt32(65_537))) == long("message text", 65_536))
    #expect(refusal([1, 1] + name + [0, 0] + bigEndian(UInt32.max)) == long("message text", 65_536))
    #expect(try unwritten([UInt8](repeating: 0x61, count: 65_537)) == long("message text", 65_536))
    let words = try held("a")
    for count in [0, 15, 17] {
      let error = protocolError { () throws(ProtocolError) in
        _ = try MessageText(message: [UInt8](repeating: 1, count: count), address: nil, text: words)
      }
      #expect(error == invalid("message id"))
    }
  }

  @Test("has an address of at most 512 bytes that can be shown, or none")
  func addresses() throws {
    func text(_ address: String) -> [UInt8] { [1, 1] + name + text16(address) + [0, 0, 0, 1, 0x61] }
    #expect(refusal(text(String(repeating: "a", count: 512))) == nil)
    #expect(refusal(text(String(repeating: "a", count: 513))) == long("message address", 512))
    let words = try held("a")
    for wrong in ["a\nb", "\u{1b}[0m", "a\u{7f}", "a\u{85}b"] {
      #expect(refusal(text(wrong)) == invalid("message address"))
      let error = protocolError { () throws(ProtocolError) in
        _ = try MessageText(message: name, address: wrong, text: words)
      }
      #expect(error == invalid("message address"))
    }
    let empty = protocolError { () throws(ProtocolError) in
      _ = try MessageText(message: name, address: "", text: words)
    }
    #expect(empty == invalid("message address"))
  }

  @Test("may be receipts, at least one and at most 64 of each sort")
  func receipts() throws {
    let delivered = try (0..<64).map { _ in try sampleReceipt() }
    let read = try (0..<64).map { _ in try Randomness.bytes(16) }
    for (some, others) in [(delivered, read), ([], [read[0]]), ([delivered[0]], [])] {
      let sent = try MessageReceipts(delivered: some, read: others)
      guard case .receipts(let receipts) = try again(.receipts(sent)) else {
        Issue.record("no receipts")
        return
      }
      #expect(receipts == sent)
    }
    #expect(refusal([1, 3, 0, 0, 0, 0]) == invalid("receipts"))
    #expect(refusal([1, 3, 0, 65]) == long("receipts", 64))
    #expect(refusal([1, 3, 0, 0, 0, 65]) == long("receipts", 64))
    for (some, others) in [([], []), (delivered + delivered, []), ([], read + read), ([], [[1]])] {
      #expect(throws: ProtocolError.self) { try MessageReceipts(delivered: some, read: others) }
    }
  }

  @Test("may be nothing, for its receipt alone")
  func probe() throws {
    guard case .probe = try again(.probe) else {
      Issue.record("no probe")
      return
    }
    #expect(exposed(try MessageContent.probe.encoded()) == [1, 4])
  }
}

@Suite("A part of a file")
struct MessagePartTests {
  private func file(
    _ byteCount: Int = 5, name: String = "a b.txt", mediaType: String = "text/plain"
  ) throws(ProtocolError) -> MessagePart.File {
    let digest: Digest
    do { digest = try randomDigest() } catch { throw .sodium(.unavailable) }
    return try MessagePart.File(
      kind: .file, name: name, mediaType: mediaType, byteCount: UInt64(byteCount), digest: digest)
  }

  private func part(
    _ file: MessagePart.File, _ number: Int, count: Int? = nil, caption: String? = nil
  ) throws -> MessagePart {
    try MessagePart(
      message: name, address: nil, file: file, caption: caption.map { try held($0) }, number: UInt16(number),
      bytes: held([UInt8](repeating: 7, count: count ?? file.partByteCount(number))))
  }

  /// The encoding, with faults.
  private func bytes(
    kind: UInt8 = 1, name file: String = "a", mediaType: String = "", byteCount: UInt64 = 2, number: UInt16 = 0,
    count: UInt16 = 1, caption: [UInt8] = [], part: [UInt8] = [1, 2]
  ) -> [UInt8] {
    let front = [1, 2] + name + [0, 0, kind] + text16(file) + text16(mediaType) + bigEndian(byteCount)
    let place = [UInt8](repeating: 3, count: 32) + bigEndian(number) + bigEndian(count)
    return front + place + bigEndian(UInt32(caption.count)) + caption + bigEndian(UInt32(part.count)) + part
  }

  @Test("comes out as it went in")
  func roundTrip() throws {
    let size = 2 * MessagePart.byteLimit + 10
    let file = try file(size)
    #expect(file.partCount == 3)
    for number in 0..<3 {
      let sent = try part(file, number, caption: number == 0 ? "Look" : nil)
      guard case .part(let part) = try again(.part(sent)) else {
        Issue.record("no part")
        return
      }
      #expect(part.message == name && part.file == file && part.number == number && part.count == 3)
      #expect(part.caption.map { exposed($0) } == (number == 0 ? Array("Look".utf8) : nil))
      #expect(part.bytes.count == (number == 2 ? 10 : MessagePart.byteLimit))
      #expect(exposed(part.bytes).allSatisfy { $0 == 7 })
    }
  }

  @Test("is written as the documents have it")
  func encoding() throws {
    #expect(refusal(bytes()) == nil)
    guard case .part(let part) = try MessageContent.decode(bytes(kind: 2).span.bytes) else {
      Issue.record("no part")
      return
    }
    #expect(part.file.kind == .photo && part.file.name == "a" && part.file.mediaType.isEmpty && part.caption == nil)
    #expect(exposed(part.bytes) == [1, 2])
  }

  @Test("divides every file in one way, an empty one too, up to 64 MiB")
  func division() throws {
    let limit = MessagePart.byteLimit
    for (size, count, last) in [
      (0, 1, 0), (1, 1, 1), (limit, 1, limit), (limit + 1, 2, 1), (2 * limit, 2, limit),
      (64 << 20, 65, (64 << 20) - 64 * limit),
    ] {
      let file = try file(size)
      #expect(file.partCount == count && file.partByteCount(count - 1) == last, "\(size)")
    }
    #expect(MessagePart.countLimit == 65)
    let over = protocolError { () throws(ProtocolError) in _ = try file(64 << 20 + 1) }
    #expect(over == long("file", 64 << 20))
    guard case .part(let empty) = try again(.part(part(file(0), 0))) else {
      Issue.record("no part")
      return
    }
    #expect(empty.bytes.count == 0 && empty.count == 1)
  }

  @Test("is refused with another number, count or length than its file gives it")
  func place() throws {
    #expect(refusal(bytes(number: 1)) == invalid("file part number"))
    #expect(refusal(bytes(number: .max)) == invalid("file part number"))
    for count in [UInt16(0), 2, .max] { #expect(refusal(bytes(count: count)) == invalid("file part count")) }
    for wrong in [[], [1], [1, 2, 3]] as [[UInt8]] { #expect(refusal(bytes(part: wrong)) == invalid("file part")) }
    #expect(refusal(bytes(byteCount: .max)) == long("file", 64 << 20))
    let length = bytes().dropLast(6) + bigEndian(UInt32(MessagePart.byteLimit + 1))
    #expect(refusal(Array(length)) == long("file part", MessagePart.byteLimit))
    let file = try file()
    for (number, count) in [(1, 5), (0, 4), (0, 6)] {
      #expect(throws: ProtocolError.self) { _ = try part(file, number, count: count) }
    }
  }

  @Test("has a file's name without folders, controls or a meaning of its own")
  func names() throws {
    for wrong in ["", "a/b", "/", ".", "..", "a\nb", "\u{1b}", "\u{9b}", String(repeating: "n", count: 256)] {
      let error = refusal(bytes(name: wrong))
      #expect(error == invalid("file name") || error == long("file name", 255), "\(wrong.debugDescription)")
      #expect(protocolError { () throws(ProtocolError) in _ = try file(name: wrong) } == invalid("file name"))
    }
    for right in ["...", "ü", ".profile", "a b", String(repeating: "n", count: 255)] {
      #expect(refusal(bytes(name: right)) == nil)
    }
    #expect(refusal(bytes(kind: 0)) == invalid("file kind"))
    #expect(refusal(bytes(kind: 3)) == invalid("file kind"))
  }

  @Test("has a media type of at most 127 printable ASCII characters")
  func mediaTypes() throws {
    #expect(refusal(bytes(mediaType: String(repeating: "m", count: 127))) == nil)
    #expect(refusal(bytes(mediaType: String(repeating: "m", count: 128))) == long("media type", 127))
    for wrong in ["ü", "a\n", "\u{7f}"] {
      #expect(refusal(bytes(mediaType: wrong)) == invalid("media type"))
      #expect(protocolError { () throws(ProtocolError) in _ = try file(mediaType: wrong) } == invalid("media type"))
    }
  }

  @Test("has a caption of at most 4096 bytes of UTF-8, in the first part alone")
  func captions() throws {
    #expect(refusal(bytes(caption: [UInt8](repeating: 0x61, count: 4096))) == nil)
    #expect(refusal(bytes(caption: [UInt8](repeating: 0x61, count: 4097))) == long("caption", 4096))
    for wrong in [[0], [0xff]] as [[UInt8]] { #expect(refusal(bytes(caption: wrong)) == invalid("caption")) }
    let size = MessagePart.byteLimit + 2
    let second = bytes(byteCount: UInt64(size), number: 1, count: 2, caption: [0x61])
    #expect(refusal(second) == invalid("caption"))
    let large = try file(size)
    #expect(throws: ProtocolError.self) { _ = try part(large, 1, caption: "a") }
    let small = try file()
    for wrong in ["", "\0", String(repeating: "c", count: 4097)] {
      #expect(throws: ProtocolError.self) { _ = try part(small, 0, caption: wrong) }
    }
  }

  @Test("counts for the digest of its file in its place")
  func digests() throws {
    func digest(_ parts: [[UInt8]]) throws -> Digest {
      var digest = try FileDigest()
      for part in parts { digest.take(part.span.bytes) }
      return digest.digest()
    }
    var expected = try DomainHash("vault/message-file/v1")
    expected.append([1, 2])
    expected.append([3])
    #expect(try digest([[1, 2], [3]]) == expected.digest())
    #expect(try digest([[3], [1, 2]]) != digest([[1, 2], [3]]))
    #expect(try digest([[1], [2, 3]]) != digest([[1, 2], [3]]))
    #expect(try digest([[]]) != digest([]))
  }
}
