import SealedPayload
import Sodium
import Testing
import VaultProtocol

@testable import SecretVault
@testable import VaultStore

extension VaultTests {
  @Suite struct Resharing {
    private func reshare(
      _ world: TestWorld, by member: Int = 0, _ request: ReshareRequest,
      passwords: @escaping PasswordSource = Recovering.noPassword
    ) async throws -> ReshareReport {
      try await world[member].vault.recovering.reshare(
        request, passwords: passwords, recovering: { _ in }, sharing: { _ in })
    }

    @Test(arguments: [0, 1, 1 << 20, (1 << 20) + 1, 5_000_001])
    func `a file of any size is the same under another id, for other holders`(size: Int) async throws {
      let world = try TestWorld(4)
      let bytes = randomBytes(size)
      let old = try await world.share(bytes, threshold: 2, name: "plan.pdf", to: [1, 2], description: "plan").id
      let report = try await reshare(
        world, ReshareRequest(reference: "plan", threshold: 3, recipients: ["cleo", "dan"]))
      #expect(report.old.id == old && report.share.id != old && report.share.isFinished)
      #expect(report.share.threshold == 3 && report.share.description == "plan")
      let (recovered, contents) = try await world.recover(by: 3, report.share.id)
      #expect(contents == bytes && recovered.suggestedName == "plan.pdf")
      // The old one is as it was.
      #expect(try await world.recover(by: 1, old).bytes == bytes)
      #expect(
        try world[3].vault.directory.header(of: world[3].vault.directory.resolve(report.share.id)).labels == [
          "ada", "cleo", "dan",
        ])
    }

    @Test func `without a choice the old holders get shares again, with the old threshold`() async throws {
      let world = try TestWorld(5)
      try await world.share([1, 2, 3], threshold: 3, to: [1, 2])
      let report = try await reshare(world, ReshareRequest(reference: try world[0].vault.overview.secrets()[0].id))
      #expect(report.share.threshold == 3 && report.share.deliveries.map(\.peer) == ["ben", "cleo"])
      // Who didn't deal it takes the dealer, and whom that has named, or who has proved a share. What the labels say may be somebody else here.
      let byBen = try world[1].vault.recovering.planReshare(ReshareRequest(reference: report.old.id))
      #expect(Set(byBen.recipients) == ["ada", "cleo"] && byBen.leftOut.isEmpty)
      _ = try world[1].vault.core.set("introductions", to: "off")
      try world[1].execute("DELETE FROM introductions")
      let alone = try world[1].vault.recovering.planReshare(ReshareRequest(reference: report.old.id, threshold: 2))
      #expect(alone.recipients == ["ada"])
      _ = try await world[1].vault.checking.check(report.old.id, pieces: 1) { _ in }
      let later = try world[1].vault.recovering.planReshare(ReshareRequest(reference: report.old.id))
      #expect(Set(later.recipients) == ["ada", "cleo"])
    }

    @Test func `a holder who is named twice counts once, which is said before anybody is asked`() async throws {
      let world = try TestWorld(3)
      let id = try await world.share([1, 2, 3], threshold: 2).id
      let request = ReshareRequest(reference: id, threshold: 3, recipients: ["ben", "ben"])
      let mistake = #expect(throws: VaultError.self) { try world[0].vault.recovering.planReshare(request) }
      #expect(mistake?.code == .usage && mistake?.reason == "ben is named twice")
    }

    @Test func `holders that are no peers are named, as they get none`() async throws {
      let circle = try await Circle()
      let ben = circle.world[1].vault
      let before = try ben.recovering.planReshare(ReshareRequest(reference: circle.report.id))
      #expect(before.recipients == ["ada"])
      #expect(before.leftOut == ["cleo, introduced by ada", "dan, introduced by ada"])
      _ = try ben.trust.acceptIntroduced(ben.introductions.introducedHolder(named: "cleo"), name: nil)
      let after = try ben.recovering.planReshare(ReshareRequest(reference: circle.report.id))
      #expect(Set(after.recipients) == ["ada", "cleo"] && after.leftOut == ["dan, introduced by ada"])
      let chosen = try ben.recovering.planReshare(ReshareRequest(reference: circle.report.id, recipients: ["cleo"]))
      #expect(chosen.leftOut.isEmpty)
    }

    @Test func `the new one is released as the old one was, from the beginning on`() async throws {
      let world = try TestWorld(3)
      let old = try await world.share([1, 2, 3], threshold: 2).id
      _ = try world[0].vault.consent.setReleasePolicy(.ask, of: old)
      let report = try await reshare(world, ReshareRequest(reference: old))
      let policy = try world[0].vault.consent.releasePolicy(of: report.share.id)
      #expect(policy.policy == .ask && !policy.isDefault)
    }

    @Test func `kind, fields and media type stay`() async throws {
      let world = try TestWorld(2)
      var header = try PayloadHeader(kind: .password, fileName: Array("mail".utf8).span.bytes, mediaType: "text/plain")
      try header.add(field: "user", value: Array("ada".utf8).span.bytes)
      let content = SecretContent(header: header, body: try SecretBytes(copying: [UInt8]([4, 5]).span.bytes))
      let old = try await world[0].vault.sharing.share(ShareRequest(source: .memory(content), threshold: 2)) { _ in }
      let report = try await reshare(world, ReshareRequest(reference: old.id))
      let new = try await world[1].vault.recovering.recoverContent(report.share.id, passwords: Recovering.noPassword) {
        _ in
      }
      let (kind, type) = (new.kind, new.header.mediaType)
      let user = new.header.field("user")?.withUnsafeBytes { Array($0) }
      let body = new.body.withUnsafeBytes { Array($0) }
      #expect(kind == .password && type == "text/plain" && user == Array("ada".utf8) && body == [4, 5])
      #expect(try world[1].vault.overview.secrets().allSatisfy { $0.kind == "password" })
    }

    @Test func `a content may be changed on the way`() async throws {
      let world = try TestWorld(2)
      let old = try await world.share([1, 2, 3], threshold: 2, name: "note").id
      let request = ReshareRequest(reference: old) { content in
        do {
          let header = try content.header.duplicate()
          return SecretContent(header: header, body: try SecretBytes(copying: [UInt8]([9, 9]).span.bytes))
        } catch { throw VaultError(.other, "no memory") }
      }
      let report = try await reshare(world, request)
      #expect(try await world.recover(by: 1, report.share.id).bytes == [9, 9])
      #expect(try await world.recover(by: 1, old).bytes == [1, 2, 3])
    }

    @Test func `a secret's own password protects the new one, too`() async throws {
      let world = try TestWorld(2)
      let path = try world.scratch.write([1, 2, 3], as: "file")
      let old = try await world[0].vault.sharing.share(
        ShareRequest(
          source: .file(path: path), threshold: 2, password: SharePassword(secretBytes("s3same"), logarithm: 15))
      ) { _ in }
      let right: PasswordSource = { (_) async throws in
        do { return try secretBytes("s3same") } catch { throw VaultError(.other, "no memory") }
      }
      let report = try await reshare(world, ReshareRequest(reference: old.id), passwords: right)
      let refused = await refusal { try await world.recover(by: 1, report.share.id) }
      #expect(refused?.code == .wrongPassword)
      let destination = RecoveryDestination.file(path: world[1].desk + "/out", overwrites: true)
      _ = try await world[1].vault.recovering.recover(report.share.id, to: destination, passwords: right) { _ in }
      #expect(contents(world[1].desk + "/out") == [1, 2, 3])
    }

    @Test func `what can't be recovered or shared leaves the old secret as it is`() async throws {
      let world = try TestWorld(3)
      let old = try await world.share(randomBytes(3_000_000), threshold: 3).id
      world.set(.refuses, for: world[2])
      let failed = await refusal { try await reshare(world, ReshareRequest(reference: old)) }
      #expect(failed?.code == .belowThreshold)
      world.set(.none, for: world[2])
      let unmet = await refusal {
        try await reshare(world, ReshareRequest(reference: old, threshold: 4, recipients: ["ben"]))
      }
      #expect(unmet?.code == .usage)
      let unknown = await refusal { try await reshare(world, ReshareRequest(reference: old, recipients: ["zoe"])) }
      #expect(unknown?.code == .notFound)
      #expect(try world[0].vault.overview.secrets().map(\.id) == [old])
      #expect(files(below: world[0].folders.stagingPath).isEmpty)
      #expect(try await world.check(by: 0).answered == 3)
    }

    @Test func `a shared key is not shared anew`() async throws {
      let world = try TestWorld(2)
      let content = SecretContent(
        header: try PayloadHeader(kind: .encryptionKey), body: try SecretBytes(random: 32))
      let key = try await world[0].vault.sharing.share(ShareRequest(source: .memory(content), threshold: 2)) { _ in }
      let failure = await refusal { try await reshare(world, ReshareRequest(reference: key.id)) }
      #expect(failure?.code == .refused)
    }
  }
}
