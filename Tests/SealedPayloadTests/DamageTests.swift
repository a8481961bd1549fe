@testable import SealedPayload
import Sodium
import Testing

@Suite("Every change to a ciphertext is found")
struct DamageTests {
  /// Three chunks and a bit, so that first, middle and last are different.
  static let body = pattern(180_000)

  @Test("a flipped bit anywhere")
  func flippedBits() throws {
    let ciphertext = try seal(Self.body)
    var random = SystemRandomNumberGenerator()
    let borders = [0, 15, 16, 65_551, 65_552, 65_567, 65_568, 131_103, 131_104, ciphertext.count - 1]
    for position in borders + (0..<60).map({ _ in Int.random(in: 0..<ciphertext.count, using: &random) }) {
      var changed = ciphertext
      changed[position] ^= 1 << UInt8.random(in: 0...7, using: &random)
      #expect(throws: PayloadError.damaged) { try open(changed) }
    }
  }

  @Test("every single bit of a small payload")
  func everyBit() throws {
    let ciphertext = try seal(pattern(40), padding: .compact)
    for position in ciphertext.indices {
      for bit in 0..<8 {
        var changed = ciphertext
        changed[position] ^= 1 << UInt8(bit)
        #expect(throws: PayloadError.damaged) { try open(changed, padding: .compact) }
      }
    }
  }

  @Test("a cut end, whether the announced length says so or not")
  func truncation() throws {
    let ciphertext = try seal(Self.body)
    var random = SystemRandomNumberGenerator()
    let lengths = [0, 1, 16, 17, 65_552, 131_104, ciphertext.count - 1]
    for length in lengths + (0..<20).map({ _ in Int.random(in: 0..<ciphertext.count, using: &random) }) {
      let cut = Array(ciphertext[..<length])
      #expect(throws: PayloadError.truncated) { try open(cut, announced: ciphertext.count) }
      #expect(throws: PayloadError.damaged) { try open(cut, announced: length) }
    }
  }

  @Test("a cut behind a whole chunk: the last flag alone tells, below all lengths")
  func lastFlag() throws {
    let ciphertext = try sealRaw(pattern(2 * 65_536), key: testKey())
    for length in [65_552, 2 * 65_552] {
      var opener = try ChunkOpener(key: testKey(), ciphertextByteCount: UInt64(length))
      func openAll() throws { try ciphertext.withUnsafeBytes { try opener.append($0.part(0, length)) { _ in } } }
      if length == ciphertext.count { try openAll() } else { #expect(throws: PayloadError.damaged) { try openAll() } }
    }
  }

  @Test("bytes behind the end, whether the announced length says so or not")
  func extension_() throws {
    let ciphertext = try seal(Self.body)
    for extra in [1, 16, 17, 65_552, 131_104] {
      let longer = ciphertext + pattern(extra)
      #expect(throws: PayloadError.trailingBytes) { try open(longer, announced: ciphertext.count) }
      #expect(throws: PayloadError.damaged) { try open(longer, announced: longer.count) }
    }
  }

  @Test("chunks in another order, twice, or left out")
  func chunkOrder() throws {
    let ciphertext = try seal(Self.body)
    let first = ciphertext[..<65_552]
    let second = ciphertext[65_552..<131_104]
    let last = ciphertext[131_104...]
    for changed in [second + first + last, first + first + last, first + last, second + last, first + second] {
      #expect(throws: PayloadError.damaged) { try open(Array(changed)) }
    }
  }

  @Test("chunks of another payload under another key")
  func foreignKey() throws {
    let ciphertext = try seal(Self.body)
    #expect(throws: PayloadError.damaged) { try open(ciphertext, key: secret(pattern(32))) }
  }

  @Test("and nothing of a damaged batch is handed out")
  func nothingBeforeVerification() throws {
    var ciphertext = try seal(Self.body)
    ciphertext[0] ^= 1
    var opener = try PayloadOpener(key: testKey(), ciphertextByteCount: UInt64(ciphertext.count))
    var handedOut = 0
    #expect(throws: PayloadError.damaged) {
      try ciphertext.withUnsafeBytes { try opener.append($0) { handedOut += $0.count } }
    }
    #expect(handedOut == 0)
    #expect(throws: PayloadError.abandoned) {
      try ciphertext.withUnsafeBytes { try opener.append($0) { handedOut += $0.count } }
    }
    #expect(throws: PayloadError.abandoned) { try opener.finishUnsafe { handedOut += $0.count } }
    #expect(handedOut == 0)
  }

  @Test("ciphertext lengths that no payload has are refused at once")
  func impossibleLengths() throws {
    for length: UInt64 in [0, 1, 16, 65_552 + 16, 1 << 62, .max] {
      #expect(throws: PayloadError.damaged) {
        _ = try PayloadOpener(key: testKey(), ciphertextByteCount: length).needsPassword
      }
    }
  }

  @Test("a receiver's own error passes through")
  func receiverFails() throws {
    struct DiskFull: Error {}
    let ciphertext = try seal(Self.body)
    var opener = try PayloadOpener(key: testKey(), ciphertextByteCount: UInt64(ciphertext.count))
    #expect(throws: DiskFull.self) {
      try ciphertext.withUnsafeBytes { try opener.append($0) { _ in throw DiskFull() } }
    }
  }
}

@Suite("A payload that its sealer made wrongly is refused, although every chunk verifies")
struct MalformedPayloadTests {
  private func open(layer: UInt8 = 0, _ payload: [UInt8]) throws -> [UInt8] {
    try SealedPayloadTests.open(sealRaw([layer] + payload, key: testKey()))
  }

  @Test("the hand-made payload of these tests is well-formed")
  func wellFormed() throws {
    #expect(try open(paddedPayload(header: noteHeader, body: [7, 8, 9])) == [7, 8, 9])
  }

  @Test("padding that isn't zero, in its first, a middle or its last byte, in this chunk or a later one")
  func padding() throws {
    for size in [3, 262_150] {
      let body = pattern(size)
      let good = try paddedPayload(header: noteHeader, body: body)
      let start = 8 + noteHeader.count + body.count
      for position in [start, (start + good.count) / 2, good.count - 1] {
        var bad = good
        bad[position] = 1
        #expect(throws: PayloadError.paddingNotZero) { try open(bad) }
      }
    }
  }

  @Test("a padded length other than the prescribed one")
  func paddedLength() throws {
    let good = try paddedPayload(header: noteHeader, body: [1])
    for count in [1, 9, 64, 1000, 1023, 1025, 1056, 2048] {
      let bad = Array((good + [UInt8](repeating: 0, count: 2000)).prefix(count))
      #expect(throws: PayloadError.damaged) { try open(bad) }
    }
  }

  @Test("a length that doesn't fit what is there")
  func length() throws {
    for length: UInt64 in [0, 11, 1017, 1 << 40, .max, .max - 7] {
      let bad = try paddedPayload(header: noteHeader, body: [1], length: length)
      #expect(throws: PayloadError.damaged) { try open(bad) }
    }
  }

  @Test("an unknown layer")
  func layer() throws {
    let payload = try paddedPayload(header: noteHeader, body: [1])
    #expect(throws: PayloadError.wire(.unsupported(field: "payload layer", value: 2))) {
      try open(layer: 2, payload)
    }
  }

  @Test("a header that reaches beyond its payload")
  func headerTooLong() throws {
    #expect(throws: PayloadError.self) {
      try open(paddedPayload(header: [0x7f, 0xfe] + noteHeader.dropFirst(2), body: []))
    }
    #expect(throws: PayloadError.wire(.limitExceeded(field: "header", limit: 32766))) {
      try open(paddedPayload(header: [0xff, 0xff] + noteHeader.dropFirst(2), body: []))
    }
  }
}
