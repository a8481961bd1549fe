import Glibc
import SecretVault
import Sodium

/// Reads and writes descriptors straight from and to secret memory.
enum SecretStream {
  private static let firstByteCount = 1 << 16

  /// Reads up to the end of input, at most `limit` bytes. One newline at the end doesn't count.
  static func read(_ descriptor: Int32, limit: Int, what: String) throws(VaultError) -> SecretBytes {
    var memory = try zeros(firstByteCount)
    var count = 0
    while true {
      let position = count
      let got = memory.withUnsafeMutableBytes { buffer in
        Glibc.read(descriptor, buffer.baseAddress?.advanced(by: position), buffer.count - position)
      }
      if got < 0 {
        if errno == EINTR { continue }
        throw VaultError(.inputOutput, "cannot read \(what): \(SystemError.text(errno))")
      }
      guard got > 0 else { break }
      count += got
      guard count <= limit else { throw VaultError(.usage, "\(what) is longer than \(limit) bytes") }
      if count == memory.count { memory = try grown(memory) }
    }
    if count > 0, memory.withUnsafeBytes({ $0[count - 1] == UInt8(ascii: "\n") }) { count -= 1 }
    do throws(SodiumError) { return try SecretBytes(copying: memory.bytes.extracting(first: count)) } catch {
      throw VaultError(.other, "no secret memory left")
    }
  }

  /// Writes everything.
  static func write(_ bytes: borrowing SecretBytes, to descriptor: Int32) throws(VaultError) {
    try bytes.withUnsafeBytes { (buffer) throws(VaultError) in
      var done = 0
      while done < buffer.count {
        let count = Glibc.write(descriptor, buffer.baseAddress?.advanced(by: done), buffer.count - done)
        if count < 0 {
          if errno == EINTR { continue }
          throw VaultError(.inputOutput, "cannot write the output: \(SystemError.text(errno))")
        }
        done += count
      }
    }
  }

  private static func grown(_ memory: borrowing SecretBytes) throws(VaultError) -> SecretBytes {
    var larger = try zeros(2 * memory.count)
    larger.withUnsafeMutableBytes { target in memory.withUnsafeBytes { target.copyMemory(from: $0) } }
    return larger
  }

  private static func zeros(_ count: Int) throws(VaultError) -> SecretBytes {
    do throws(SodiumError) { return try SecretBytes(zeros: count) } catch {
      throw VaultError(.other, "no secret memory left")
    }
  }
}
