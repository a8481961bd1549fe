import Glibc
import Sodium
import Testing

@testable import XMPPRequests

@Suite struct ScramStackTests {
  /// Copies what calls that are over have left below this one's part of the stack.
  @inline(never) private static func copyRemains(_ buffer: UnsafeMutableRawPointer, _ count: Int) {
    var anchor = 0
    withUnsafeMutablePointer(to: &anchor) {
      _ = memcpy(buffer, UnsafeRawPointer($0) - count, count)
    }
  }

  @Test(arguments: ScramHash.allCases)
  func `no digest stays on the stack`(_ hash: ScramHash) throws {
    let count = 8192
    let remains = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 8)
    defer { remains.deallocate() }
    let key = try SecretBytes(random: 32)
    let code = try hash.hmac(key: key.bytes, key.bytes)
    Self.copyRemains(remains, count)
    let stack = Array(UnsafeRawBufferPointer(start: remains, count: count))
    let digest = code.withUnsafeBytes { Array($0) }
    // As it is computed: in words, as the machine has them.
    let width = hash == .sha512 ? 8 : 4
    let words = stride(from: 0, to: digest.count, by: width).flatMap { digest[$0..<$0 + width].reversed() }
    for needle in [digest, words] {
      #expect(!stack.indices.dropLast(needle.count).contains { stack[$0..<$0 + needle.count].elementsEqual(needle) })
    }
  }
}
