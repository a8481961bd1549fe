import CSodium
import Sodium

/// The hash functions of SCRAM, with secrets in and out.
package enum ScramHash: String, CaseIterable, Sendable {
  // In the order of preference.
  case sha256 = "SCRAM-SHA-256"
  case sha512 = "SCRAM-SHA-512"
  case sha1 = "SCRAM-SHA-1"

  var size: Int {
    switch self {
    case .sha1: 20
    case .sha256: 32
    case .sha512: 64
    }
  }

  func hash(_ message: RawSpan) throws(SodiumError) -> SecretBytes {
    var digest = try SecretBytes(zeros: size)
    var workspace = try SecretBytes(zeros: SHA1.workspaceByteCount)
    defer { SodiumLibrary.wipeStack() }
    message.withUnsafeBytes { message in
      digest.withUnsafeMutableBytes { digest in
        workspace.withUnsafeMutableBytes { hash(message.octets, message.count, digest.octets, $0.octets) }
      }
    }
    return digest
  }

  func hmac(key: RawSpan, _ message: RawSpan) throws(SodiumError) -> SecretBytes {
    var scratch = try Scratch.taken(self, messageLimit: message.byteCount)
    var code = try SecretBytes(zeros: size)
    defer { SodiumLibrary.wipeStack() }
    key.withUnsafeBytes { key in
      message.withUnsafeBytes { message in
        code.withUnsafeMutableBytes { code in
          scratch.hmac(key.octets, key.count, message.octets, message.count, into: code.octets)
        }
      }
    }
    return code
  }

  /// `Hi` of RFC 5802: PBKDF2 for one block.
  func stretched(_ password: borrowing SecretBytes, salt: [UInt8], iterations: Int) throws(SodiumError) -> SecretBytes {
    var scratch = try Scratch.taken(self, messageLimit: salt.count + 4)
    var round = try SecretBytes(zeros: size)
    var sum = try SecretBytes(zeros: size)
    let first = salt + [0, 0, 0, 1]
    let size = size
    defer { SodiumLibrary.wipeStack() }
    password.withUnsafeBytes { password in
      round.withUnsafeMutableBytes { round in
        sum.withUnsafeMutableBytes { sum in
          scratch.hmac(password.octets, password.count, first, first.count, into: round.octets)
          sum.copyMemory(from: UnsafeRawBufferPointer(round))
          for _ in 1..<max(iterations, 1) {
            scratch.hmac(password.octets, password.count, round.octets, size, into: round.octets)
            for place in 0..<size { sum[place] ^= round[place] }
          }
        }
      }
    }
    return sum
  }

  private func hash(
    _ message: UnsafePointer<UInt8>, _ count: Int, _ digest: UnsafeMutablePointer<UInt8>,
    _ workspace: UnsafeMutablePointer<UInt8>
  ) {
    switch self {
    case .sha1: SHA1.hash(message, count, digest, workspace)
    case .sha256: crypto_hash_sha256(digest, message, UInt64(count))
    case .sha512: crypto_hash_sha512(digest, message, UInt64(count))
    }
  }

  /// Secret memory for one HMAC after another.
  private struct Scratch: ~Copyable {
    private let hash: ScramHash
    private let block: Int
    /// A block of the key, a message or a digest behind it.
    private var bytes: SecretBytes
    private var key: SecretBytes
    private var workspace: SecretBytes

    static func taken(_ hash: ScramHash, messageLimit: Int) throws(SodiumError) -> Scratch {
      let block = hash == .sha512 ? 128 : 64
      let bytes = try SecretBytes(zeros: block + max(messageLimit, hash.size))
      let key = try SecretBytes(zeros: block)
      let workspace = try SecretBytes(zeros: SHA1.workspaceByteCount)
      return Scratch(hash: hash, block: block, bytes: bytes, key: key, workspace: workspace)
    }

    private init(
      hash: ScramHash, block: Int, bytes: consuming SecretBytes, key: consuming SecretBytes,
      workspace: consuming SecretBytes
    ) {
      self.workspace = workspace
      self.hash = hash
      self.block = block
      self.bytes = bytes
      self.key = key
    }

    mutating func hmac(
      _ key: UnsafePointer<UInt8>, _ keyCount: Int, _ message: UnsafePointer<UInt8>, _ count: Int,
      into code: UnsafeMutablePointer<UInt8>
    ) {
      let (hash, block) = (hash, block)
      self.key.wipe()
      workspace.withUnsafeMutableBytes { workspace in
        self.key.withUnsafeMutableBytes { padded in
          if keyCount > block {
            hash.hash(key, keyCount, padded.octets, workspace.octets)
          } else {
            padded.copyMemory(from: UnsafeRawBufferPointer(start: key, count: keyCount))
          }
          bytes.withUnsafeMutableBytes { bytes in
            for place in 0..<block { bytes[place] = padded[place] ^ 0x36 }
            UnsafeMutableRawBufferPointer(rebasing: bytes[block...])
              .copyMemory(from: UnsafeRawBufferPointer(start: message, count: count))
            hash.hash(bytes.octets, block + count, code, workspace.octets)
            for place in 0..<block { bytes[place] = padded[place] ^ 0x5C }
            UnsafeMutableRawBufferPointer(rebasing: bytes[block...])
              .copyMemory(from: UnsafeRawBufferPointer(start: code, count: hash.size))
            hash.hash(bytes.octets, block + hash.size, code, workspace.octets)
          }
        }
      }
    }
  }
}
