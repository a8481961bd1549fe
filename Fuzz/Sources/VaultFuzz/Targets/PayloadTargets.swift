@testable import SealedPayload
import Sodium
import WireCodec

/// The encrypted stream and everything inside it.
enum PayloadTargets {
  static let all = [
    FuzzTarget("payload", upTo: 140_000, allocating: 8) { bytes in
      var tape = Tape(bytes)
      let padding: PayloadPadding = tape.flag() ? .standard : .compact
      let announced = tape.flag() ? tape.anyNumber() : nil
      let cut = 1 + tape.number(below: 5000)
      let ciphertext = tape.remainder()
      return try open(ciphertext, announced: announced, padding: padding, cut: cut) != nil
    },
    // The plaintext is the input: what whoever knows the key may have sealed.
    FuzzTarget("payload-inside", upTo: 140_000, allocating: 8) { bytes in
      var tape = Tape(bytes)
      let padding: PayloadPadding = tape.flag() ? .standard : .compact
      let cut = 1 + tape.number(below: 5000)
      var plaintext = tape.remainder()
      // Filled up to a length that a padded payload has, so that the fuzzer needn't find one.
      if let body = plaintext.first, body == 0, let padded = padding.paddedByteCount(UInt64(plaintext.count - 1)) {
        plaintext += [UInt8](repeating: 0, count: Int(padded) + 1 - plaintext.count)
      }
      guard !plaintext.isEmpty else { return false }
      let ciphertext = try seal(plaintext)
      guard let again = try open(ciphertext, announced: nil, padding: padding, cut: cut) else { return false }
      require(again == ciphertext, "a payload has one encoding")
      return true
    },
    // Behind a password, of which scrypt is the price: slow.
    FuzzTarget("payload-locked", upTo: 70_000, allocating: 48) { bytes in
      var tape = Tape(bytes)
      let padding: PayloadPadding = tape.flag() ? .standard : .compact
      let cut = 1 + tape.number(below: 5000)
      let wrong = tape.byte()
      var inside = tape.remainder()
      if let padded = padding.paddedByteCount(UInt64(inside.count)) {
        inside += [UInt8](repeating: 0, count: Int(padded) - inside.count)
      }
      var front = [UInt8](arrayLiteral: 1, 15) + salt + lock.commitment
      if wrong & 1 == 1 { front[Int(wrong >> 1) % front.count] ^= 1 + wrong >> 1 }
      let stream = try seal(inside, key: lock.key)
      return try open(try seal(front + stream), announced: nil, padding: padding, cut: cut) != nil
    },
    // Parts in any order, compared with the whole.
    FuzzTarget("payload-part", upTo: 140_000, allocating: 8) { bytes in
      var tape = Tape(bytes)
      let padding: PayloadPadding = tape.flag() ? .standard : .compact
      let places = (0..<4).map { _ in (tape.anyNumber(), tape.number(below: 70_000)) }
      var plaintext = tape.remainder()
      if let body = plaintext.first, body == 0, let padded = padding.paddedByteCount(UInt64(plaintext.count - 1)) {
        plaintext += [UInt8](repeating: 0, count: Int(padded) + 1 - plaintext.count)
      }
      guard !plaintext.isEmpty else { return false }
      let ciphertext = try seal(plaintext)
      var reader = try PayloadReader(
        key: secret(keyBytes), ciphertextByteCount: UInt64(ciphertext.count), padding: padding
      ) { offset, target in
        require(offset + UInt64(target.count) <= UInt64(ciphertext.count), "only what is there is read")
        target.copyBytes(from: ciphertext[Int(offset)..<Int(offset) + target.count])
      }
      guard let count = reader.bodyByteCount else { return reader.needsPassword && false }
      require(count <= UInt64(plaintext.count), "a body lies within its payload")
      let start = reader.withHeader { 1 + PayloadSource.lengthByteCount + $0.byteCount } ?? 0
      for (offset, length) in places {
        var part = [UInt8](repeating: 0, count: length)
        let got = try part.withUnsafeMutableBytes { try reader.read(at: offset, into: $0) }
        let expected =
          offset < count ? plaintext[start...].dropFirst(Int(offset)).prefix(Int(count - offset)).prefix(length) : []
        require(Array(part.prefix(got)) == Array(expected), "a part is what the payload has there")
      }
      try reader.verifyEnd()
      try reader.verifyAll()
      return true
    },
    FuzzTarget("payload-header", upTo: 40_000) { bytes in
      let header = try PayloadHeader(from: bytes.span.bytes)
      require(
        header.bytes.withUnsafeBytes { Array($0) } == Array(bytes.prefix(header.byteCount)), "a header is its bytes")
      for name in header.fieldNames {
        require(header.field(name) != nil, "a field that is listed is there")
      }
      let fileName = header.fileName.withUnsafeBytes { Array($0) }
      require(fileName.count <= PayloadHeader.fileNameByteLimit, "a file name keeps to its limit")
      var larger = header
      let value = Array("value".utf8)
      do throws(PayloadError) { try larger.add(field: "field", value: value.span.bytes) } catch { return true }
      require(larger.fieldNames.count <= PayloadHeader.fieldLimit, "fields keep to their limit")
      guard let added = larger.field("field") else { violated("a field that was added is there") }
      require(added.withUnsafeBytes { Array($0) } == value, "a field keeps its value")
      let encoded = larger.bytes.withUnsafeBytes { Array($0) }
      let again = prepared { try PayloadHeader(from: encoded.span.bytes) }
      require(again.fieldNames == larger.fieldNames, "a header with a new field reads itself")
      return true
    },
    FuzzTarget("suggested-name", upTo: 1500, judges: false) { bytes in
      let name = SuggestedName.sanitised(bytes.span.bytes)
      let utf8 = Array(name.utf8)
      require((1...SuggestedName.byteLimit).contains(utf8.count), "a name is neither empty nor too long")
      require(!utf8.contains { $0 == 0x2f || $0 == 0x5c || $0 < 0x20 || $0 == 0x7f }, "a name holds nothing of a path")
      require(utf8.first != UInt8(ascii: ".") && utf8.first != 0x20, "a name begins with something")
      let again = SuggestedName.sanitised(utf8.span.bytes)
      require(again == name, "a clean name stays as it is")
      return true
    },
    FuzzTarget("padding", upTo: 10, judges: false) { bytes in
      var tape = Tape(bytes)
      let length = tape.anyNumber()
      for padding in [PayloadPadding.standard, .compact] {
        guard let padded = padding.paddedByteCount(length) else { continue }
        require(padded >= length && padded <= PaddedLength.limit, "padding only adds")
        require(padding.paddedByteCount(padded) == padded, "a padded length stays as it is")
      }
      return true
    },
  ]

  private static let keyBytes = [UInt8](repeating: 7, count: 32)
  private static let password = Array("password".utf8)
  private static let salt = [UInt8](repeating: 5, count: Scrypt.saltByteCount)

  /// What the password leads to.
  private static let lock = prepared { () throws -> (key: [UInt8], commitment: [UInt8]) in
    let word = try secret(password)
    let key = try PasswordLayer.key(of: word, salt: salt, logarithm: 15)
    let commitment = try PasswordLayer.commitment(to: key)
    return (exposed(key), exposed(commitment))
  }

  /// The stream of any plaintext.
  static func seal(_ plaintext: [UInt8], key: [UInt8] = keyBytes) throws -> [UInt8] {
    var sealer = try ChunkSealer(key: secret(key), plaintextByteCount: UInt64(plaintext.count))
    var ciphertext = [UInt8](repeating: 0, count: Int(sealer.layout.ciphertextByteCount))
    var position = 0
    let count = try ciphertext.withUnsafeMutableBytes { output in
      try sealer.next(into: output) { buffer in
        buffer.copyBytes(from: plaintext[position..<(position + buffer.count)])
        position += buffer.count
      }
    }
    require(count == ciphertext.count, "a stream has its announced length")
    return ciphertext
  }

  /// Opens a stream, with the password if it asks for one. Returns what the same contents are sealed to without one.
  private static func open(
    _ ciphertext: [UInt8], announced: UInt64?, padding: PayloadPadding, cut: Int
  ) throws -> [UInt8]? {
    var opener = try PayloadOpener(
      key: secret(keyBytes), ciphertextByteCount: announced ?? UInt64(ciphertext.count), padding: padding)
    var body: [UInt8] = []
    var rest = ciphertext[...]
    while !rest.isEmpty {
      let part = Array(rest.prefix(cut))
      let taken = try part.withUnsafeBytes { part in try opener.append(part) { body += Array($0) } }
      rest = rest.dropFirst(taken)
      if opener.needsPassword {
        require(opener.passwordLogarithm.map(Scrypt.acceptedLogarithms.contains) == true, "scrypt's cost is limited")
        guard opener.passwordLogarithm == 15 else { return nil }
        let word = try secret(password)
        try opener.unlock(password: word)
      }
    }
    try opener.finishUnsafe { body += Array($0) }
    require(opener.bodyByteCount == UInt64(body.count), "a body has its announced length")
    return try opener.withHeader { header in
      var sealer = try PayloadSealer(
        key: secret(keyBytes), header: header, bodyByteCount: UInt64(body.count), padding: padding)
      var again = [UInt8](repeating: 0, count: Int(sealer.ciphertextByteCount))
      var position = 0
      let count = try again.withUnsafeMutableBytes { output in
        try sealer.next(into: output) { buffer in
          let count = min(buffer.count, body.count - position)
          buffer.copyBytes(from: body[position..<(position + count)])
          position += count
          return count
        }
      }
      require(count == again.count, "a payload has its announced length")
      return again
    }
  }
}
