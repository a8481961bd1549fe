package import Sodium

/// The bytes of an answer as they come in, bounded; in secret memory where there is a key in them.
///
/// Filled by the one thread that transfers, and read after that has handed it over.
package final class AnswerBuffer: @unchecked Sendable {
  private let limit: Int
  private var open: [UInt8] = []
  package let isSecret: Bool
  private var secret: SecretBytes
  private var count = 0

  package init(limit: Int, isSecret: Bool) throws(SodiumError) {
    self.limit = limit
    self.isSecret = isSecret
    secret = try SecretBytes(zeros: isSecret ? limit : 1)
  }

  package init(open bytes: [UInt8]) throws(SodiumError) {
    limit = bytes.count
    isSecret = false
    open = bytes
    secret = try SecretBytes(zeros: 1)
  }

  package init(secret bytes: consuming SecretBytes) {
    limit = bytes.count
    count = bytes.count
    isSecret = true
    secret = bytes
  }

  /// False if it would be too long.
  package func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count <= limit - count else { return false }
    if isSecret {
      let start = count
      secret.withUnsafeMutableBytes { target in
        UnsafeMutableRawBufferPointer(rebasing: target[start...]).copyMemory(from: bytes)
      }
    } else {
      open.append(contentsOf: bytes)
    }
    count += bytes.count
    return true
  }

  package func withBytes<Result: ~Copyable, Failure: Error>(
    _ body: (RawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard isSecret else {
      let bytes = open
      return try body(bytes.span.bytes)
    }
    return try secret.withUnsafeBytes { memory throws(Failure) in
      try body(UnsafeRawBufferPointer(rebasing: memory.prefix(count)).bytes)
    }
  }
}
