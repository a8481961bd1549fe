import Testing

@testable import Sodium

@Suite("secretbox")
struct SecretBoxTests {
  /// NaCl's tests/secretbox.c (public domain).
  static let key = "1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389"
  static let nonce = "69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37"
  static let plaintext =
    "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c6129"
    + "6cdc3c01233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde"
    + "048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f937763848645e0705"
  static let ciphertext =
    "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186a"
    + "c0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae"
    + "90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5"

  @Test("gives NaCl's value")
  func vector() throws {
    let key = try secret(hex: Self.key)
    let plaintext = try hex(Self.plaintext)
    let sealed = try SecretBox.seal(plaintext.span.bytes, key: key, nonce: hex(Self.nonce))
    #expect(hexadecimal(sealed) == Self.ciphertext)
    let opened = try SecretBox.open(sealed.span.bytes, key: key, nonce: hex(Self.nonce))
    #expect(copied(opened) == plaintext)
  }

  @Test("refuses every changed bit, a short ciphertext, another nonce or key")
  func changed() throws {
    let nonce = try hex(Self.nonce)
    let sealed = try hex(Self.ciphertext)
    func refuses(_ sealed: [UInt8], _ keyText: String, _ nonce: [UInt8]) throws -> Bool {
      let key = try secret(hex: keyText)
      do throws(SodiumError) {
        return try SecretBox.open(sealed.span.bytes, key: key, nonce: nonce).count < 0
      } catch {
        return error == .verificationFailed
      }
    }
    for position in sealed.indices {
      var bad = sealed
      bad[position] ^= 1 << UInt8.random(in: 0...7)
      #expect(try refuses(bad, Self.key, nonce))
    }
    for count in [0, 15, 16, sealed.count - 1] { #expect(try refuses(Array(sealed[..<count]), Self.key, nonce)) }
    #expect(try refuses(sealed, Self.key, [UInt8](repeating: 0, count: 24)))
    #expect(try refuses(sealed, "00" + Self.key.dropFirst(2), nonce))
  }

  @Test("stream chunks are the same as boxes with the documented nonce")
  func streamChunks() throws {
    let key = try secret(hex: Self.key)
    let plaintext = try hex(Self.plaintext)
    for (counter, isLast) in [(0, false), (0, true), (258, false), (UInt64.max, true), (1 << 56, false)]
      as [(UInt64, Bool)]
    {
      let counterBytes = withUnsafeBytes(of: counter.bigEndian) { Array($0) }
      let expected = [UInt8](repeating: 0, count: 15) + counterBytes + [isLast ? 1 : 0]
      let nonce = StreamNonce(counter: counter, isLast: isLast)
      #expect(nonce.withUnsafeBytes { Array($0) } == expected)
      var sealed = [UInt8](repeating: 0, count: plaintext.count + 16)
      let done = sealed.withUnsafeMutableBytes { output in
        plaintext.withUnsafeBytes { plain in
          key.withUnsafeBytes { SecretBox.seal(chunk: plain, key: $0, nonce: nonce, into: output) }
        }
      }
      #expect(done)
      #expect(try sealed == SecretBox.seal(plaintext.span.bytes, key: key, nonce: expected))
      var opened = plaintext.map { _ in UInt8(0) }
      let undone = opened.withUnsafeMutableBytes { output in
        sealed.withUnsafeBytes { cipher in
          key.withUnsafeBytes { SecretBox.open(chunk: cipher, key: $0, nonce: nonce, into: output) }
        }
      }
      #expect(undone && opened == plaintext)
    }
  }

  @Test("refuses keys and nonces of another length")
  func lengths() throws {
    let short = try SecretBytes(random: 31)
    let key = try SecretBytes(random: 32)
    #expect(throws: SodiumError.invalidLength(expected: 32, actual: 31)) {
      try SecretBox.seal(RawSpan(), key: short, nonce: [UInt8](repeating: 0, count: 24))
    }
    #expect(throws: SodiumError.invalidLength(expected: 24, actual: 23)) {
      try SecretBox.seal(RawSpan(), key: key, nonce: [UInt8](repeating: 0, count: 23))
    }
  }
}

@Suite("ChaCha20-Poly1305")
struct ChaChaPolyTests {
  /// RFC 8439, section 2.8.2.
  static let ciphertext =
    "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b"
    + "1a71de0a9e060b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc"
    + "3ff4def08e4b7a9de576d26586cec64b61161ae10b594f09e26a7e902ecbd0600691"
  static let plaintext = Array(
    ("Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
      + "sunscreen would be it.").utf8)
  static let nonce: [UInt8] = [7, 0, 0, 0] + Array(0x40...0x47)
  static let additional: [UInt8] = Array(0x50...0x53) + Array(0xc0...0xc7)

  private func seal(
    _ plaintext: [UInt8], key: borrowing SecretBytes, nonce: [UInt8] = nonce, _ additional: [UInt8] = [],
    excess: Int = 0
  ) throws(SodiumError) -> [UInt8] {
    try filledBytes(plaintext.count + ChaChaPoly.overhead + excess) { (output) throws(SodiumError) in
      try plaintext.span.bytes.withUnsafeBytes { (plain) throws(SodiumError) in
        try additional.span.bytes.withUnsafeBytes { (additional) throws(SodiumError) in
          try ChaChaPoly.seal(plain, key: key, nonce: nonce, additionalData: additional, into: output)
        }
      }
    }
  }

  /// What was written, and the error if there was one.
  private func open(
    _ sealed: [UInt8], key: borrowing SecretBytes, _ additional: [UInt8] = [], room: Int? = nil
  ) -> (bytes: [UInt8], error: SodiumError?) {
    var failure: SodiumError?
    let bytes = filledBytes(room ?? max(0, sealed.count - ChaChaPoly.overhead)) { (output) throws(Never) in
      do throws(SodiumError) {
        try sealed.span.bytes.withUnsafeBytes { (sealed) throws(SodiumError) in
          try additional.span.bytes.withUnsafeBytes { (additional) throws(SodiumError) in
            try ChaChaPoly.open(sealed, key: key, nonce: Self.nonce, additionalData: additional, into: output)
          }
        }
      } catch { failure = error }
    }
    return (bytes, failure)
  }

  @Test("gives RFC 8439's value and opens it")
  func vector() throws {
    let key = try secret(Array(0x80...0x9f))
    let sealed = try seal(Self.plaintext, key: key, Self.additional)
    #expect(hexadecimal(sealed) == Self.ciphertext)
    #expect(open(sealed, key: key, Self.additional) == (Self.plaintext, nil))
  }

  @Test("refuses every changed byte of ciphertext, tag or additional data, and writes nothing of the plaintext")
  func changed() throws {
    let key = try secret(Array(0x80...0x9f))
    let sealed = try hex(Self.ciphertext)
    func expectRefusal(_ sealed: [UInt8], _ additional: [UInt8]) {
      let (bytes, error) = open(sealed, key: key, additional)
      #expect(error == .verificationFailed)
      #expect(bytes.allSatisfy { $0 == 0 })
    }
    for position in sealed.indices {
      var bad = sealed
      bad[position] ^= 1 << UInt8.random(in: 0...7)
      expectRefusal(bad, Self.additional)
    }
    expectRefusal(sealed, [])
    for count in [0, 15, 16, sealed.count - 1] { expectRefusal(Array(sealed[..<count]), Self.additional) }
  }

  @Test("refuses keys, nonces and outputs of another length")
  func lengths() throws {
    let key = try SecretBytes(random: 32)
    let short = try SecretBytes(random: 16)
    #expect(throws: SodiumError.invalidLength(expected: 32, actual: 16)) { try seal([], key: short) }
    #expect(throws: SodiumError.invalidLength(expected: 12, actual: 24)) {
      try seal([], key: key, nonce: [UInt8](repeating: 0, count: 24))
    }
    #expect(throws: SodiumError.invalidLength(expected: 16, actual: 17)) { try seal([], key: key, excess: 1) }
    let sealed = try seal(Self.plaintext, key: key)
    #expect(
      open(sealed, key: key, room: 5).error == .invalidLength(expected: Self.plaintext.count, actual: 5))
  }
}
