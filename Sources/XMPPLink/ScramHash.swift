import CSodium
import CStrophe
import Sodium
import Synchronization

/// libstrophe's SHA-1 works in memory of its own that all threads share: two logins at once would spoil each other's.
private let sharedWorkspace = Mutex(())

/// The hash functions of SCRAM, with secrets in and out.
///
/// SHA-1, which Prosody 0.12 still asks for, is libstrophe's; libsodium has none. Only its use as HMAC matters here,
/// and that isn't broken.
enum ScramHash: String, CaseIterable, Sendable {
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
    message.withUnsafeBytes { message in
      digest.withUnsafeMutableBytes { digest in hash(message.octets, message.count, digest.octets) }
    }
    return digest
  }

  func hmac(key: RawSpan, _ message: RawSpan) throws(SodiumError) -> SecretBytes {
    var scratch = try Scratch.taken(self, messageLimit: message.byteCount)
    var code = try SecretBytes(zeros: size)
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

  private func hash(_ message: UnsafePointer<UInt8>, _ count: Int, _ digest: UnsafeMutablePointer<UInt8>) {
    switch self {
    case .sha1: sharedWorkspace.withLock { _ in xmpp_sha1_digest(message, count, digest) }
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

    static func taken(_ hash: ScramHash, messageLimit: Int) throws(SodiumError) -> Scratch {
      let block = hash == .sha512 ? 128 : 64
      let bytes = try SecretBytes(zeros: block + max(messageLimit, hash.size))
      let key = try SecretBytes(zeros: block)
      return Scratch(hash: hash, block: block, bytes: bytes, key: key)
    }

    private init(hash: ScramHash, block: Int, bytes: consuming SecretBytes, key: consuming SecretBytes) {
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
      self.key.withUnsafeMutableBytes { padded in
        if keyCount > block {
          hash.hash(key, keyCount, padded.octets)
        } else {
          padded.copyMemory(from: UnsafeRawBufferPointer(start: key, count: keyCount))
        }
        bytes.withUnsafeMutableBytes { bytes in
          for place in 0..<block { bytes[place] = padded[place] ^ 0x36 }
          UnsafeMutableRawBufferPointer(rebasing: bytes[block...])
            .copyMemory(from: UnsafeRawBufferPointer(start: message, count: count))
          hash.hash(bytes.octets, block + count, code)
          for place in 0..<block { bytes[place] = padded[place] ^ 0x5C }
          UnsafeMutableRawBufferPointer(rebasing: bytes[block...])
            .copyMemory(from: UnsafeRawBufferPointer(start: code, count: hash.size))
          hash.hash(bytes.octets, block + hash.size, code)
        }
      }
    }
  }
}
