import Testing

@testable import SecretVault

extension VaultTests {
  /// Rows that all commands need.
  @Suite struct DamagedRows {
    @Test(arguments: ["UPDATE identity SET label = 'x'", "UPDATE peers SET name = 'x'"])
    func `an identity or a peer that is damaged names the shares, and how to make the database anew`(
      change: String
    ) async throws {
      let world = try TestWorld(2)
      let id = try await world.share([1], threshold: 2).id
      try world[0].execute(change)
      let failure = await refusal {
        try world[0].restart()
        _ = try world[0].vault.overview.status()
      }
      #expect(failure?.code == .damaged && failure?.reason.contains(id) == true, "\(failure as Any)")
      #expect(failure?.hint?.contains("vault device rebuild") == true)
    }

    @Test func `a policy that is damaged is mended by whoever looks closely, and named until then`() async throws {
      let world = try TestWorld(2)
      let id = try await world.share([1], threshold: 2).id
      _ = try world[1].vault.consent.setReleasePolicy(.ask, of: id)
      try world[1].execute("UPDATE policies SET mac = zeroblob(32)")
      #expect(try world[1].vault.directory.lostShares().map(\.reason) == [.recordsDamaged])
      world[1].vault.directory.lookClosely()
      #expect(try world[1].vault.directory.lostShares() == [])
      #expect(try world[1].vault.overview.log(limit: 10).contains { $0.event == "share-taken-up" })
    }

    @Test func `a list leaves out what is damaged, names it, and has the rest`() async throws {
      let world = try TestWorld(2)
      let damaged = try await world.share([1], threshold: 2, name: "1").id
      let sound = try await world.share([1], threshold: 2, name: "2").id
      try world[0].execute("UPDATE secrets SET created_at = 7 WHERE hex(id) = upper('\(damaged)')")
      let (list, left) = try world[0].vault.overview.soundSecretList()
      #expect(list.listing.lines.map { list.summary($0).id } == [sound] && left == [damaged])
    }
  }
}
