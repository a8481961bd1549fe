import ShamirKit
import Sodium
import Testing
import WireCodec

@testable import VaultProtocol

@Suite("The release, which carries a share")
struct ReleaseTests {
  private func encoded(_ dealt: DealtSecret, _ index: UInt8, request: UInt64 = 7) throws -> [UInt8] {
    let share = try dealt.dealing.share(index)
    let salt = try secret(dealt.salt(index))
    return try publicBytes(count: Release.byteCount) { writer throws(WireError) in
      try Release.encode(request: request, share: share, salt: salt, into: &writer)
    }
  }

  private func refusal(_ bytes: [UInt8]) -> ProtocolError? {
    protocolError { () throws(ProtocolError) in _ = try Release.decode(bytes.span.bytes) }
  }

  @Test("brings number, index, salt and share over", arguments: 0..<5)
  func roundTrip(_: Int) throws {
    let dealt = try DealtSecret.random()
    let request = UInt64.random(in: 0...(.max))
    for index in 1...UInt8(dealt.holders.count) {
      let bytes = try encoded(dealt, index, request: request)
      let release = try Release.decode(bytes.span.bytes)
      let share = exposed(release.share.bytes)
      #expect(release.request == request)
      #expect(release.share.index == index)
      #expect(release.salt.withUnsafeBytes { Array($0) } == dealt.salt(index))
      #expect(try share == dealt.shareBytes(index))
      #expect(try bytes == bigEndian(request) + [index] + dealt.salt(index) + dealt.shareBytes(index))
    }
  }

  @Test("cut at any length, or with a byte behind its end, is refused")
  func cutOrExtended() throws {
    let bytes = try encoded(DealtSecret.random(), 1)
    for count in bytes.indices {
      guard case .malformed(.truncated) = refusal(Array(bytes[..<count])) else {
        Issue.record("\(count) bytes")
        continue
      }
    }
    #expect(refusal(bytes + [0]) == .malformed(.trailingBytes(count: 1)))
  }

  @Test("of share 0, or with scalars that are not below the group order, is refused")
  func malformedShare() throws {
    let bytes = try encoded(DealtSecret.random(), 1)
    var zero = bytes
    zero[8] = 0
    #expect(refusal(zero) == .rejected(.foreignShare(index: 0)))
    for last in [72, 104] {
      var large = bytes
      large[last] = 0xff
      #expect(refusal(large) == .rejected(.malformedShare(index: 1)))
    }
  }
}
