import ShamirKit
import Sodium
import Testing

@testable import SecretVault

extension VaultTests {
  @Suite struct Releases {
    private func digest(_ number: Int) throws -> Digest {
      try Digest((0..<Digest.byteCount).map { UInt8(truncatingIfNeeded: number >> (8 * ($0 % 4))) })
    }

    private func secret(_ number: Int) throws -> SecretID {
      try SecretID(Array(digest(number).bytes.prefix(SecretID.byteCount)))
    }

    @Test func `a release is a first one for each peer and each secret, and again an hour later`() throws {
      let releases = RecentReleases()
      let (ada, ben) = (try digest(1), try digest(2))
      let (one, other) = (try secret(3), try secret(4))
      #expect(releases.isFirst(one, to: ada, at: 1000))
      #expect(!releases.isFirst(one, to: ada, at: 1000))
      #expect(releases.isFirst(other, to: ada, at: 2000))
      #expect(releases.isFirst(one, to: ben, at: 3000))
      #expect(!releases.isFirst(one, to: ada, at: 3_600_999))
      #expect(releases.isFirst(one, to: ada, at: 3_601_000))
    }

    @Test func `those that are over are forgotten`() throws {
      let releases = RecentReleases()
      let ada = try digest(1)
      for number in 0..<3000 { _ = releases.isFirst(try secret(number), to: ada, at: 0) }
      #expect(releases.count == 3000)
      for number in 3000..<8000 { _ = releases.isFirst(try secret(number), to: ada, at: RecentReleases.interval) }
      #expect(releases.count == 5000)
    }
  }
}
