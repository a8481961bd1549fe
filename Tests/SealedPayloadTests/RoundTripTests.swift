@testable import SealedPayload
import Sodium
import Testing

@Suite("A sealed payload opens to what was sealed")
struct RoundTripTests {
  /// Around every border: empty, the smallest padding, padding steps, one chunk, two chunks, a batch, several batches.
  static let sizes = [
    0, 1, 2, 955, 956, 957, 958, 959, 960, 1024, 1025, 65469, 65470, 65500, 65520, 65535, 65536, 65537, 131_000,
    131_072,
    200_000, 524_288, 1_048_576, 3_000_001,
  ]

  @Test("for bodies of every kind of length", arguments: sizes)
  func roundTrip(size: Int) throws {
    let body = pattern(size)
    let ciphertext = try seal(body)
    #expect(try open(ciphertext) == body)
  }

  @Test("for every length around the first padding steps and around a chunk's end")
  func everyLengthAroundBorders() throws {
    let overhead = try 1 + 8 + fileHeader().byteCount
    for size in Array(1000 - overhead...1060) + Array(65536 - overhead - 3...65536 - overhead + 3) {
      let body = pattern(size, seed: UInt64(size + 1))
      #expect(try open(seal(body)) == body)
    }
  }

  @Test("under a password", arguments: [0, 1, 65_470, 131_072, 1_500_000])
  func roundTripWithPassword(size: Int) throws {
    let body = pattern(size)
    let ciphertext = try seal(body, password: PasswordLayer(password: secret("correct horse"), logarithm: 15))
    #expect(try open(ciphertext, password: "correct horse") == body)
  }

  @Test("when body, ciphertext and output are cut anywhere")
  func randomCuts() throws {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<12 {
      let body = pattern(Int.random(in: 0...1_400_000, using: &random))
      let ciphertext = try seal(
        body, outputByteCount: Int.random(in: 1000...700_000, using: &random),
        step: Int.random(in: 1000...90_000, using: &random))
      #expect(try ciphertext == seal(body))
      let longest = Int.random(in: 3000...900_000, using: &random)
      #expect(try open(ciphertext) { min($0, Int.random(in: 1...longest, using: &random)) } == body)
    }
  }

  @Test("byte by byte")
  func byteByByte() throws {
    let body = pattern(70_000)
    let ciphertext = try seal(body, outputByteCount: 1, step: 1)
    #expect(try open(ciphertext) { _ in 1 } == body)
  }

  @Test("with a password, when the ciphertext is cut anywhere")
  func randomCutsWithPassword() throws {
    var random = SystemRandomNumberGenerator()
    let body = pattern(700_000)
    let ciphertext = try seal(
      body, password: PasswordLayer(password: secret("p"), logarithm: 15), outputByteCount: 50_001, step: 7000)
    for longest in [1000, 65_552, 65_553, 300_000, 2_000_000] {
      let opened = try open(ciphertext, password: "p") { min($0, Int.random(in: 1...longest, using: &random)) }
      #expect(opened == body)
    }
  }

  @Test("and its ciphertext has the announced length, which depends on the padded length alone")
  func announcedLength() throws {
    for size in Self.sizes {
      let sealer = try PayloadSealer(key: testKey(), header: fileHeader(), bodyByteCount: UInt64(size))
      let announced = sealer.ciphertextByteCount
      #expect(try drain(sealer, body: pattern(size)).count == announced)
      let padded = try #require(PaddedLength.of(UInt64(8 + fileHeader().byteCount + size)))
      let chunks = (padded + 1 + 65535) / 65536
      #expect(announced == 1 + padded + 16 * chunks)
    }
  }

  @Test("with the padding for QR codes, which both sides must mean")
  func compactPadding() throws {
    for size in [0, 1, 30, 31, 32, 33, 200, 256] {
      let body = pattern(size)
      let ciphertext = try seal(body, padding: .compact)
      #expect((ciphertext.count - 17).isMultiple(of: 64))
      #expect(try open(ciphertext, padding: .compact) == body)
    }
    let ciphertext = try seal([1, 2, 3], padding: .compact)
    #expect(throws: PayloadError.damaged) { try open(ciphertext) }
  }

  @Test("and the same key, header, body and nothing else give the same bytes")
  func deterministic() throws {
    #expect(try seal(pattern(5000)) == seal(pattern(5000)))
    #expect(try seal(pattern(5000)) != seal(pattern(5000, seed: 2)))
  }
}

@Suite("The body's source must keep its word")
struct SourceTests {
  @Test("a source that ends early is an error", arguments: [1, 1000, 70_000, 1_100_000])
  func tooShort(size: Int) throws {
    #expect(throws: PayloadError.sourceTooShort) {
      let sealer = try PayloadSealer(key: testKey(), header: fileHeader(), bodyByteCount: UInt64(size))
      return try drain(sealer, body: pattern(size - 1))
    }
  }

  @Test("a source that goes on is an error", arguments: [0, 1000, 65_527, 70_000, 1_100_000])
  func tooLong(size: Int) throws {
    #expect(throws: PayloadError.sourceTooLong) {
      let sealer = try PayloadSealer(key: testKey(), header: fileHeader(), bodyByteCount: UInt64(size))
      return try drain(sealer, body: pattern(size + 1))
    }
  }

  @Test("a source that claims more bytes than it was given room for is an error")
  func lying() throws {
    var sealer = try PayloadSealer(key: testKey(), header: fileHeader(), bodyByteCount: 100)
    var output = [UInt8](repeating: 0, count: 4096)
    #expect(throws: PayloadError.sourceTooLong) {
      try output.withUnsafeMutableBytes { try sealer.next(into: $0) { $0.count + 1 } }
    }
  }

  @Test("its own error passes through, and afterwards the sealer refuses to go on")
  func sourceFails() throws {
    struct Unreadable: Error {}
    var sealer = try PayloadSealer(key: testKey(), header: fileHeader(), bodyByteCount: 100)
    var output = [UInt8](repeating: 0, count: 4096)
    #expect(throws: Unreadable.self) {
      try output.withUnsafeMutableBytes { try sealer.next(into: $0) { _ in throw Unreadable() } }
    }
    #expect(throws: PayloadError.abandoned) {
      try output.withUnsafeMutableBytes { try sealer.next(into: $0) { _ in 0 } }
    }
  }

  @Test("a body over the limit is refused before anything is read")
  func bodyOverLimit() throws {
    for size in [PaddedLength.limit, UInt64.max] {
      #expect(throws: PayloadError.tooLarge) {
        _ = try PayloadSealer(key: testKey(), header: fileHeader(), bodyByteCount: size).ciphertextByteCount
      }
    }
  }

  @Test("a key of another length is refused")
  func keyLength() throws {
    #expect(throws: PayloadError.sodium(.invalidLength(expected: 32, actual: 31))) {
      _ = try PayloadSealer(key: secret(pattern(31)), header: fileHeader(), bodyByteCount: 0).ciphertextByteCount
    }
    #expect(throws: PayloadError.sodium(.invalidLength(expected: 32, actual: 33))) {
      _ = try PayloadOpener(key: secret(pattern(33)), ciphertextByteCount: 1041).needsPassword
    }
  }
}
