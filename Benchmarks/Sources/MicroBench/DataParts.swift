import SealedPayload
import ShamirKit
import Sodium

/// What is done to every byte of a file.
enum DataParts {
  private static let byteCount = 32 << 20
  private static let step = 4 << 20

  static func measure(_ timer: PartTimer) throws {
    let key = try SecretBytes(random: 32)
    var ciphertext = [UInt8](repeating: 0, count: byteCount + (1 << 20) + byteCount / 8)
    var length = 0
    try timer.measure("encrypt, all cores", byteCount: byteCount) { length = try seal(key, into: &ciphertext) }
    try timer.measure("decrypt, all cores", byteCount: byteCount) { try open(key, ciphertext, length) }
    try pieces(ciphertext, timer)
  }

  private static func seal(_ key: borrowing SecretBytes, into ciphertext: inout [UInt8]) throws -> Int {
    let header = try PayloadHeader(kind: .file)
    var sealer = try PayloadSealer(key: key.duplicate(), header: header, bodyByteCount: UInt64(byteCount))
    var done = 0
    var left = byteCount
    try ciphertext.withUnsafeMutableBytes { target in
      while true {
        let end = min(done + step, target.count)
        let count = try sealer.next(into: UnsafeMutableRawBufferPointer(rebasing: target[done..<end])) { body in
          // Zeros will do: no step of the cipher takes longer or shorter for them.
          let taken = min(left, body.count)
          left -= taken
          return taken
        }
        guard count > 0 else { break }
        done += count
      }
    }
    return done
  }

  private static func open(_ key: borrowing SecretBytes, _ ciphertext: [UInt8], _ length: Int) throws {
    var opener = try PayloadOpener(key: key.duplicate(), ciphertextByteCount: UInt64(length))
    try ciphertext.withUnsafeBytes { source in
      var done = 0
      while done < length {
        let end = min(done + step, length)
        done += try opener.append(UnsafeRawBufferPointer(rebasing: source[done..<end])) { _ in }
      }
    }
    try opener.finishUnsafe { _ in }
  }

  private static func pieces(_ bytes: [UInt8], _ timer: PartTimer) throws {
    let plan = try DispersalPlan(dataCount: 3, fragmentCount: 5, byteCount: 1 << 30)
    let length = plan.maximumPieceByteCount
    let stripeLength = plan.maximumStripeByteCount
    let id = try SecretID(Randomness.bytes(16))
    try timer.measure("hash, one core", byteCount: length) {
      _ = try MerkleLeaf.digest(secret: id, fragment: 1, piece: 0, bytes: bytes.span.bytes.extracting(0..<length))
    }
    let encoder = try StripeEncoder(plan)
    var encoded = [UInt8](repeating: 0, count: length * plan.fragmentCount)
    try timer.measure("disperse 3 of 5, one core", byteCount: stripeLength) {
      try bytes.withUnsafeBytes { data in
        try encoded.withUnsafeMutableBytes { target in
          try encoder.encode(
            stripe: 0, data: UnsafeRawBufferPointer(rebasing: data[..<stripeLength]), into: target)
        }
      }
    }
    let available: [UInt8] = [3, 4, 5]
    let decoder = try StripeDecoder(plan, available: available)
    var decoded = [UInt8](repeating: 0, count: stripeLength)
    try timer.measure("decode 3 of 5, two lost, one core", byteCount: stripeLength) {
      try encoded.withUnsafeBytes { source in
        try decoded.withUnsafeMutableBytes { target in
          try decoder.decode(
            stripe: 0,
            pieces: available.map {
              UnsafeRawBufferPointer(rebasing: source[((Int($0) - 1) * length)..<(Int($0) * length)])
            },
            into: target)
        }
      }
    }
  }
}
