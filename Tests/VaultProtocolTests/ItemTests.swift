import Foundation
import PeerAuth
import SealedPayload
import ShamirKit
import Sodium
import Testing
import WireCodec

@testable import VaultProtocol

@Suite("Items")
struct ItemTests {
  private static let keyID = [UInt8](repeating: 0x11, count: 16)
  private static let itemID = [UInt8](repeating: 0x22, count: 32)
  /// The key of the examples: 0, 1, 2 … 31.
  private static func key() throws -> SecretBytes { try SecretBytes(copying: Array(UInt8(0)..<32).span.bytes) }
  private static func ephemeral() throws -> SecretBytes {
    try SecretBytes(copying: [UInt8](repeating: 0x33, count: 32).span.bytes)
  }

  private static func header(
    sealed: Bool = false, count: UInt64 = 130, description: String = "for you", padding: PayloadPadding = .compact
  ) throws -> ItemHeader {
    let mode = sealed ? ItemHeader.Mode.sealed(ephemeral: try X25519.publicKey(of: ephemeral())) : .shared
    return try ItemHeader(
      mode: mode, padding: padding, keyID: SecretID(keyID), id: itemID, ciphertextByteCount: count,
      description: description)
  }

  /// A whole item: the note `hello`.
  private static func item(sealed: Bool) throws -> [UInt8] {
    let payload = try PayloadHeader(kind: .note, mediaType: "text/plain")
    let count = try PayloadSealer.ciphertextByteCount(
      header: payload, bodyByteCount: 5, hasPassword: false, padding: .compact)
    let header = try header(sealed: sealed, count: count)
    let key = try key()
    let ephemeral = try ephemeral()
    let streamKey =
      sealed
      ? try ItemKeys.streamKey(
        of: header, ephemeralSecret: ephemeral, publicHalf: ItemKeys.publicHalf(of: key, keyID: header.keyID))
      : try ItemKeys.streamKey(of: header, key: key)
    var sealer = try PayloadSealer(key: streamKey, header: payload, bodyByteCount: 5, padding: .compact)
    var bytes = [UInt8](repeating: 0, count: Int(count))
    var rest = Array("hello".utf8)[...]
    _ = try bytes.withUnsafeMutableBytes { output in
      try sealer.next(into: output) { target in
        let part = rest.prefix(target.count)
        target.copyBytes(from: part)
        rest = rest.dropFirst(part.count)
        return part.count
      }
    }
    return try header.encoded() + bytes
  }

  /// Opens an item with K alone, as its reader does.
  private static func open(_ item: [UInt8]) throws -> [UInt8] {
    let header = try ItemHeader.parse(beginningOf: item)
    let key = try key()
    let front = header.encodedByteCount
    var reader = try PayloadReader(
      key: ItemKeys.streamKey(of: header, key: key), ciphertextByteCount: header.ciphertextByteCount,
      padding: header.padding
    ) { offset, target in
      // A header may promise more than there is.
      guard offset < UInt64(item.count), front + Int(offset) + target.count <= item.count else {
        throw PayloadError.truncated
      }
      target.copyBytes(from: item[(front + Int(offset))..<(front + Int(offset) + target.count)])
    }
    var body = [UInt8](repeating: 0, count: 100)
    let count = try body.withUnsafeMutableBytes { try reader.read(at: 0, into: $0) }
    try reader.verifyEnd()
    return Array(body.prefix(count))
  }

  @Test("the examples in docs/formats/item.md are what this code writes")
  func examples() throws {
    let document = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/formats/item.md")
    let page = try String(contentsOf: document, encoding: .utf8)
    let dense = page.filter { !$0.isWhitespace }
    func expectInPage(_ bytes: [UInt8], _ what: String) {
      #expect(dense.contains(hexadecimal(bytes)), "\(what): \(hexadecimal(bytes))")
    }
    let key = try Self.key()
    expectInPage(try ItemKeys.publicHalf(of: key, keyID: SecretID(Self.keyID)), "public half")
    for sealed in [false, true] {
      let item = try Self.item(sealed: sealed)
      let header = try ItemHeader.parse(beginningOf: item)
      expectInPage(try header.encoded(), "header")
      expectInPage(Array(item.dropFirst(header.encodedByteCount)), "ciphertext")
      let streamKey = try ItemKeys.streamKey(of: header, key: key)
      expectInPage(streamKey.withUnsafeBytes { Array($0) }, "stream key")
    }
    let text = ItemText.text(of: try Self.item(sealed: false))
    #expect(dense.contains(text), "\(text)")
    var digest = try ItemDigest(byteCount: 5)
    try digest.take(number: 0, bytes: Array("hello".utf8).span.bytes)
    expectInPage(try digest.digest().bytes, "digest")
  }

  @Test("the secret half in docs/formats/age.md is that of the key")
  func secretHalf() throws {
    let document = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/formats/age.md")
    let page = try String(contentsOf: document, encoding: .utf8)
    let secret = try ItemKeys.secretHalf(of: Self.key(), keyID: SecretID(Self.keyID))
    #expect(page.contains("    \(hexadecimal(secret.withUnsafeBytes { Array($0) }))\n"))
  }

  @Test("whoever has the key opens items of both modes", arguments: [false, true])
  func opening(sealed: Bool) throws {
    #expect(try Self.open(Self.item(sealed: sealed)) == Array("hello".utf8))
  }

  @Test("nothing in a header can be changed: every bit of it is in the stream's key", arguments: [false, true])
  func boundHeader(sealed: Bool) throws {
    let item = try Self.item(sealed: sealed)
    let count = try ItemHeader.parse(beginningOf: item).encodedByteCount
    for position in 0..<count {
      for bit in 0..<8 {
        var changed = item
        changed[position] ^= 1 << UInt8(bit)
        #expect(throws: (any Error).self, "byte \(position), bit \(bit)") { try Self.open(changed) }
      }
    }
  }

  @Test("a header is read back as it was written, and leaves the ciphertext alone")
  func roundTrip() throws {
    for sealed in [false, true] {
      for padding in [PayloadPadding.standard, .compact] {
        let header = try Self.header(sealed: sealed, padding: padding)
        let bytes = try header.encoded()
        #expect(try ItemHeader.parse(beginningOf: bytes + [1, 2, 3]) == header)
        #expect(bytes.count == header.encodedByteCount)
        for cut in bytes.indices {
          #expect(throws: WireError.self) { try ItemHeader.parse(beginningOf: Array(bytes[..<cut])) }
        }
      }
    }
  }

  @Test("what no header may hold is refused")
  func refused() throws {
    let header = try Self.header().encoded()
    func changed(_ position: Int, _ byte: UInt8) -> [UInt8] {
      var bytes = header
      bytes[position] = byte
      return bytes
    }
    for bytes in [
      changed(0, 0), changed(8, 2), changed(9, 0), changed(9, 3), changed(10, 0), changed(10, 3),
      // An even extension type.
      Array(header.dropLast(2)) + [0, 4, 0, 2, 0, 0],
    ] {
      #expect(throws: WireError.self) { try ItemHeader.parse(beginningOf: bytes) }
    }
    #expect(throws: WireError.self) { try Self.header(count: 0) }
    #expect(throws: WireError.self) { try Self.header(count: .max) }
    #expect(throws: WireError.self) { try Self.header(description: String(repeating: "x", count: 1025)) }
    #expect(throws: WireError.self) { try Self.header(description: "\0") }
  }

  @Test("an ephemeral key that leads nowhere is refused by the reader")
  func smallOrder() throws {
    var bytes = try Self.header(sealed: true).encoded()
    let place = 8 + 3 + 16 + 32
    bytes.replaceSubrange(place..<place + 32, with: [UInt8](repeating: 0, count: 32))
    #expect(throws: WireError.invalidValue(field: "ephemeral key")) { try ItemHeader.parse(beginningOf: bytes) }
  }

  @Test("an odd extension is kept, and counts for the key")
  func extensions() throws {
    var extensions = Extensions()
    extensions[7] = [1, 2]
    let header = try ItemHeader(
      mode: .shared, padding: .standard, keyID: SecretID(Self.keyID), id: Self.itemID, ciphertextByteCount: 2000,
      extensions: extensions)
    #expect(try ItemHeader.parse(beginningOf: header.encoded()).extensions[7] == [1, 2])
    let plain = try ItemHeader(
      mode: .shared, padding: .standard, keyID: SecretID(Self.keyID), id: Self.itemID, ciphertextByteCount: 2000)
    let key = try Self.key()
    let one = try ItemKeys.streamKey(of: header, key: key)
    let other = try ItemKeys.streamKey(of: plain, key: key)
    let isSame = one.matches(other)
    #expect(!isSame)
  }

  @Test("the text form is read in both cases and with white space around it, and a wrong letter is found")
  func text() throws {
    let item = try Self.item(sealed: false)
    let text = ItemText.text(of: item)
    #expect(ItemText.isItem(text))
    #expect(try ItemText.parse(" \n" + text.lowercased() + "\n") == item)
    #expect(try ItemText.parse(text) == item)
    let place = text.index(text.startIndex, offsetBy: 40)
    let other = text[place] == "Q" ? "P" : "Q"
    #expect(throws: ProtocolError.self) { try ItemText.parse(text.replacingCharacters(in: place...place, with: other)) }
    #expect(throws: ProtocolError.self) { try ItemText.parse(ItemText.text(of: Array(item.dropLast()))) }
    #expect(throws: ProtocolError.self) { try ItemText.parse(ItemText.text(of: item + [0])) }
    #expect(throws: ProtocolError.self) { try ItemText.parse(String(repeating: "q", count: 5000)) }
    #expect(!ItemText.isItem("vaultpeer1qqqqqq"))
  }

  @Test("pieces are taken in order, each of its length, and the digest is there at the end only")
  func digest() throws {
    let bytes = [UInt8](repeating: 5, count: 65_536 + 10)
    var digest = try ItemDigest(byteCount: UInt64(bytes.count))
    #expect(ItemDigest.pieceCount(UInt64(bytes.count)) == 2)
    #expect(throws: ProtocolError.unexpectedPiece(number: 1)) {
      try digest.take(number: 1, bytes: bytes.span.bytes.extracting(last: 10))
    }
    #expect(throws: ProtocolError.unexpectedPiece(number: 0)) {
      try digest.take(number: 0, bytes: bytes.span.bytes.extracting(first: 10))
    }
    try digest.take(number: 0, bytes: bytes.span.bytes.extracting(first: 65_536))
    let early = digest.isComplete
    #expect(!early)
    try digest.take(number: 1, bytes: bytes.span.bytes.extracting(last: 10))
    let whole = digest.isComplete
    #expect(whole)
    _ = try digest.digest()
    #expect(throws: ProtocolError.unexpectedPiece(number: 0)) { try ItemDigest(byteCount: 5).digest() }
  }

  @Test("the public half counts only in the header of a shared key, and only if it is one")
  func publicHalf() throws {
    let identity = try Identity.generate()
    func header(kind: UInt8, half: [UInt8]?) throws -> SecretHeader {
      let scheme = try ThresholdScheme(threshold: 2, shareCount: 2)
      let dealing = try Dealing.fresh(scheme)
      let digests = try (0..<2).map { _ in try randomDigest() }
      var extensions = Extensions()
      extensions[ItemKeys.publicHalfExtension] = half
      return try SecretHeader.sign(
        SecretHeader.Content(
          nonce: Randomness.bytes(16), kind: kind, scheme: scheme, createdAt: 1, ciphertextByteCount: 1041,
          description: "", labels: nil, commitments: dealing.commitments, roots: digests, rows: digests,
          extensions: extensions), by: identity)
    }
    let key = try Self.key()
    let half = try ItemKeys.publicHalf(of: key, keyID: SecretID(Self.keyID))
    #expect(try header(kind: 5, half: half).publicHalf == half)
    #expect(try header(kind: 1, half: half).publicHalf == nil)
    #expect(try header(kind: 5, half: nil).publicHalf == nil)
    #expect(try header(kind: 5, half: Array(half.dropLast())).publicHalf == nil)
    #expect(try header(kind: 5, half: [UInt8](repeating: 0, count: 32)).publicHalf == nil)
  }

  @Test("the agreement that leads to a stream is with exactly this public half")
  func agreement() throws {
    let header = try Self.header(sealed: true)
    let key = try Self.key()
    let ephemeral = try Self.ephemeral()
    let half = try ItemKeys.publicHalf(of: key, keyID: header.keyID)
    let sender = try ItemKeys.streamKey(of: header, ephemeralSecret: ephemeral, publicHalf: half)
    let receiver = try ItemKeys.streamKey(of: header, key: key)
    let isAgreed = sender.matches(receiver)
    #expect(isAgreed)
    let other = try SecretBytes(random: 32)
    let stranger = try ItemKeys.streamKey(of: header, key: other)
    let isOpenToAll = sender.matches(stranger)
    #expect(!isOpenToAll)
    #expect(throws: SodiumError.self) {
      _ = try ItemKeys.streamKey(of: header, ephemeralSecret: ephemeral, publicHalf: [UInt8](repeating: 0, count: 32))
    }
  }
}
