import Sodium
import Testing

@testable import SealedPayload

@Suite("Reading a part of a payload")
struct RandomAccessTests {
  /// Four chunks, the last one short.
  static let body = pattern(200_000)

  private static func reader(
    _ ciphertext: [UInt8], announced: Int? = nil, padding: PayloadPadding = .standard
  ) throws -> PayloadReader {
    try PayloadReader(
      key: testKey(), ciphertextByteCount: UInt64(announced ?? ciphertext.count), padding: padding
    ) { offset, target in
      let start = Int(offset)
      guard start + target.count <= ciphertext.count else { throw PayloadError.truncated }
      target.copyBytes(from: ciphertext[start..<start + target.count])
    }
  }

  private static func locked() throws -> [UInt8] {
    try seal(body, password: PasswordLayer(password: secret("word"), logarithm: 15))
  }

  private static func read(_ reader: inout PayloadReader, _ offset: Int, _ count: Int) throws -> [UInt8] {
    var target = [UInt8](repeating: 0, count: count)
    let got = try target.withUnsafeMutableBytes { try reader.read(at: UInt64(offset), into: $0) }
    return Array(target.prefix(got))
  }

  private static let places = [0, 1, 65_490, 65_536, 131_000, 131_071, 199_990, 199_999, 200_000, 300_000]
  private static let counts = [0, 1, 16, 65_536, 66_000, 140_000]

  @Test("any range of the body is what was sealed there, in any order")
  func ranges() throws {
    var reader = try Self.reader(seal(Self.body))
    let count = reader.bodyByteCount
    #expect(count == 200_000)
    for offset in Self.places.reversed() {
      for count in Self.counts {
        let expected = Array(Self.body.dropFirst(offset).prefix(count))
        #expect(try Self.read(&reader, offset, count) == expected, "\(count) from \(offset)")
      }
    }
  }

  @Test("the header is known from the start")
  func header() throws {
    let reader = try Self.reader(seal(Self.body))
    let name = reader.withHeader { $0.fileName.withUnsafeBytes { Array($0) } }
    #expect(name == Array("note.txt".utf8))
    let needsPassword = reader.needsPassword
    #expect(!needsPassword)
  }

  @Test("behind a password, too, once it is given")
  func password() throws {
    var reader = try Self.reader(Self.locked())
    let before = (reader.needsPassword, reader.passwordLogarithm, reader.bodyByteCount)
    #expect(before == (true, 15, nil))
    #expect(throws: PayloadError.passwordRequired) { try Self.read(&reader, 0, 1) }
    #expect(throws: PayloadError.wrongPassword) { try reader.unlock(password: secret("sword")) }
    try reader.unlock(password: secret("word"))
    let needsPassword = reader.needsPassword
    #expect(!needsPassword)
    for offset in Self.places {
      for count in Self.counts {
        let expected = Array(Self.body.dropFirst(offset).prefix(count))
        #expect(try Self.read(&reader, offset, count) == expected, "\(count) from \(offset)")
      }
    }
    try reader.verifyEnd()
    #expect(throws: PayloadError.passwordNotNeeded) { try reader.unlock(password: secret("word")) }
  }

  @Test("a changed chunk is found when it is read, and does no harm to others")
  func damage() throws {
    var ciphertext = try seal(Self.body)
    ciphertext[70_000] ^= 1
    var reader = try Self.reader(ciphertext)
    #expect(try Self.read(&reader, 0, 60_000) == Array(Self.body.prefix(60_000)))
    #expect(throws: PayloadError.damaged) { try Self.read(&reader, 60_000, 10_000) }
    #expect(try Self.read(&reader, 140_000, 10) == Array(Self.body[140_000..<140_010]))
    #expect(throws: PayloadError.damaged) { try reader.verifyAll() }
    try reader.verifyEnd()
  }

  @Test("the end is found missing though the part that is read is there", arguments: [false, true])
  func truncation(isLocked: Bool) throws {
    let whole = try isLocked ? Self.locked() : seal(Self.body)
    // Cut behind a whole chunk, and announced that long: the lengths may fit, the last chunk's mark doesn't.
    let ciphertext = Array(whole.prefix(2 * 65_552))
    do {
      var reader = try Self.reader(ciphertext)
      if isLocked { try reader.unlock(password: secret("word")) }
      #expect(throws: PayloadError.damaged) { try reader.verifyEnd() }
    } catch let error as PayloadError {
      // No payload is padded to that length.
      #expect(error == .damaged)
    }
    // The true length, and the bytes end before.
    var reader = try Self.reader(ciphertext, announced: whole.count)
    if isLocked { try reader.unlock(password: secret("word")) }
    #expect(try Self.read(&reader, 0, 100) == Array(Self.body.prefix(100)))
    #expect(throws: PayloadError.truncated) { try reader.verifyEnd() }
  }

  @Test("another key opens nothing, and all chunks verify under the right one")
  func keys() throws {
    let ciphertext = try seal(Self.body)
    #expect(throws: PayloadError.damaged) {
      _ = try PayloadReader(key: secret(pattern(32)), ciphertextByteCount: UInt64(ciphertext.count)) { offset, target in
        target.copyBytes(from: ciphertext[Int(offset)..<Int(offset) + target.count])
      }
    }
    var reader = try Self.reader(ciphertext)
    var done: UInt64 = 0
    try reader.verifyAll { done = $0 }
    #expect(done == UInt64(ciphertext.count))
  }

  @Test("a payload of one chunk, or without a body, reads like others", arguments: [0, 1, 200, 60_000])
  func small(_ count: Int) throws {
    let body = pattern(count)
    for padding in [PayloadPadding.standard, .compact] {
      var reader = try Self.reader(seal(body, padding: padding), padding: padding)
      #expect(try Self.read(&reader, 0, count + 10) == body)
      try reader.verifyEnd()
    }
  }

  @Test("the length of a ciphertext is known before it is made", arguments: [0, 1, 1000, 65_000, 65_536, 200_000])
  func lengths(_ count: Int) throws {
    for padding in [PayloadPadding.standard, .compact] {
      let plain = try PayloadSealer.ciphertextByteCount(
        header: fileHeader(), bodyByteCount: UInt64(count), hasPassword: false, padding: padding)
      #expect(try plain == UInt64(seal(pattern(count), padding: padding).count))
      let locked = try PayloadSealer.ciphertextByteCount(
        header: fileHeader(), bodyByteCount: UInt64(count), hasPassword: true, padding: padding)
      let layer = try PasswordLayer(password: secret("word"), logarithm: 15)
      #expect(try locked == UInt64(seal(pattern(count), password: layer, padding: padding).count))
    }
  }
}
