import Sodium
import Testing
import VaultProtocol

@testable import SecretVault
@testable import VaultStore

extension VaultTests {
  /// Ben's device goes back to a backup, and his user's word about shares of ada's secret doesn't.
  @Suite struct BackupConsent {
    let world: TestWorld
    let header: SecretHeader
    let id: String

    init() async throws {
      world = try TestWorld(4)
      id = try await world.share(randomBytes(2000), threshold: 3, to: [1, 2, 3]).id
      header = try world[0].header(id)
    }

    private var ben: Vault { world[1].vault }

    private func ask(by member: Int, _ other: SecretHeader? = nil) async throws -> RefusalReason? {
      let header = other ?? self.header
      let requester = try await HostileRequester(world[member], dials: world[1], in: world)
      let nonce = try await requester.ask(header)
      let answer = try await requester.submit(requester.proof(header, nonce: nonce))
      await requester.session.close()
      return answer
    }

    private func goBack(losing isLost: Bool = false) throws {
      ben.close()
      if isLost { try #require(remove(world[1].folders.databasePath)) }
      _ = try Archive.restoreBackup(
        from: world.scratch.path + "/backup", at: world[1].folders, overwrites: true,
        passphrase: { throw VaultError(.wrongPassphrase, "none") }, confirm: { _ in },
        environment: world[1].environment)
      try world[1].restart()
    }

    private func save() throws {
      _ = try ben.archive.createBackup(to: world.scratch.path + "/backup", overwrites: false)
    }

    @Test func `what was refused since stays refused, though the delay that was in the backup is over`() async throws {
      _ = try ben.consent.setReleasePolicy(.delay(86_400_000), of: id)
      #expect(try await ask(by: 2) == .releaseDelayed)
      try save()
      _ = try ben.consent.refuseRequest(try #require(ben.consent.requests().first).id, for: 10 * 86_400_000)
      world.clock.advance(milliseconds: 2 * 86_400_000)
      try goBack()
      #expect(try ben.consent.requests().map(\.state) == [.refused])
      #expect(try await ask(by: 2) == .notAccepted)
      #expect(try await ask(by: 3) == .releaseDelayed)
    }

    @Test(arguments: [false, true])
    func `what waited has to be asked for anew, and waits its whole time again`(isLost: Bool) async throws {
      _ = try ben.consent.setReleasePolicy(.delay(86_400_000), of: id)
      #expect(try await ask(by: 2) == .releaseDelayed)
      try save()
      world.clock.advance(milliseconds: 2 * 86_400_000)
      try goBack(losing: isLost)
      #expect(try ben.consent.requests().isEmpty)
      #expect(try await ask(by: 2) == .releaseDelayed)
      world.clock.advance(milliseconds: 86_400_000)
      #expect(try await ask(by: 2) == nil)
    }

    @Test func `what was approved before is asked about again`() async throws {
      _ = try ben.consent.setReleasePolicy(.ask, of: id)
      #expect(try await ask(by: 2) == .userAsked)
      _ = try await ben.consent.approveRequest(try #require(ben.consent.requests().first).id)
      try save()
      try goBack()
      #expect(try await ask(by: 2) == .userAsked)
    }

    @Test func `what a peer got on this day still counts`() async throws {
      _ = try ben.core.set("release-limit", to: "1")
      let other = try world[0].header(try await world.share([1, 2, 3], threshold: 3, to: [1, 2, 3]).id)
      try save()
      #expect(try await ask(by: 2) == nil)
      try goBack()
      #expect(try await ask(by: 2, other) == .releaseLimit)
      #expect(try await ask(by: 2) == nil)
    }

    @Test func `a refusal about what the backup hasn't goes with it`() async throws {
      try save()
      let later = try world[0].header(try await world.share([1, 2, 3], threshold: 3, to: [1, 2, 3]).id)
      _ = try ben.consent.setReleasePolicy(.ask, of: later.id.description)
      #expect(try await ask(by: 2, later) == .userAsked)
      _ = try ben.consent.refuseRequest(try #require(ben.consent.requests().first).id)
      try goBack()
      #expect(try ben.consent.requests().isEmpty && ben.overview.secrets().count == 1)
    }
  }
}
