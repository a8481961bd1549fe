import PeerAuth
import ShamirKit
import Sodium
import Testing
import VaultProtocol

@testable import SecretVault

@Suite struct HeaderMemoryTests {
  let memory = HeaderMemory()

  private func header(_ description: String = "") throws -> SecretHeader {
    let scheme = try ThresholdScheme(threshold: 2, shareCount: 2)
    let digest = try Digest([UInt8](repeating: 1, count: 32))
    return try SecretHeader.sign(
      SecretHeader.Content(
        nonce: Randomness.bytes(16), kind: 1, scheme: scheme, createdAt: 0, ciphertextByteCount: 1000,
        description: description, labels: nil, commitments: Dealing.fresh(scheme).commitments, roots: [digest, digest],
        rows: [digest, digest]),
      by: Identity.generate())
  }

  @Test func `a header is the same when it is remembered`() throws {
    let header = try header()
    for _ in 0..<3 { #expect(try memory.header(header.bytes, digest: header.digest) == header) }
    #expect(memory.count == 1)
  }

  @Test func `bytes that changed are read anew, although they are stored under a known digest`() throws {
    let header = try header()
    _ = try memory.header(header.bytes, digest: header.digest)
    for position in [0, 40, header.bytes.count - 100, header.bytes.count - 1] {
      var changed = header.bytes
      changed[position] ^= 1
      #expect(throws: ProtocolError.self) { try memory.header(changed, digest: header.digest) }
    }
    // Another header, whole and signed, in the place of the first.
    let other = try self.header()
    #expect(throws: ProtocolError.inconsistentHeader("digest")) {
      try memory.header(other.bytes, digest: header.digest)
    }
    #expect(try memory.header(header.bytes, digest: header.digest) == header)
  }

  @Test func `the memory forgets rather than grow`() throws {
    let long = String(repeating: "x", count: 1000)
    var byteCount = 0
    while byteCount <= HeaderMemory.byteLimit {
      let header = try header(long)
      byteCount += header.bytes.count
      _ = try memory.header(header.bytes, digest: header.digest)
    }
    #expect(memory.count < 10)
  }
}
