import SealedPayload
import ShamirKit
import Sodium
import Testing
import VaultProtocol
import WireCodec

@testable import SecretVault

extension VaultTests {
  @Suite struct MemoryContent {
    /// A password entry with two fields and a body.
    private func content(
      _ body: [UInt8] = [7, 8, 9], extensions: SecretContent.HeaderExtensions? = nil
    ) throws -> SecretContent {
      var header = try PayloadHeader(kind: .password, fileName: Array("mail".utf8).span.bytes, mediaType: "text/plain")
      try header.add(field: "user", value: Array("ada".utf8).span.bytes)
      try header.add(field: "password", value: Array("s3same".utf8).span.bytes)
      return SecretContent(
        header: header, body: try SecretBytes(copying: body.span.bytes), extensions: extensions)
    }

    @Test func `what lies in memory is shared without a file and recovered into memory, fields and all`() async throws {
      let world = try TestWorld(2)
      let report = try await world[0].vault.sharing.share(ShareRequest(source: .memory(content()), threshold: 2)) { _ in
      }
      #expect(report.isFinished)
      #expect(try world[1].vault.overview.secrets().first?.kind == "password")
      let content = try await world[1].vault.recovering.recoverContent(nil, passwords: Recovering.noPassword) { _ in }
      let kind = content.kind
      let names = content.header.fieldNames
      let type = content.header.mediaType
      #expect(kind == .password && names == ["password", "user"] && type == "text/plain")
      let body = content.body.withUnsafeBytes { Array($0) }
      #expect(body == [7, 8, 9])
      let user = content.header.field("user")?.withUnsafeBytes { Array($0) }
      #expect(user == Array("ada".utf8))
      let byteCount = content.report?.byteCount
      #expect(byteCount == 3)
      #expect(world.desk(of: 1).isEmpty)
    }

    @Test func `a content is shared once and then gone from memory`() async throws {
      let world = try TestWorld(2)
      let content = try content()
      _ = try await world[0].vault.sharing.share(ShareRequest(source: .memory(content), threshold: 2)) { _ in }
      let failure = await refusal {
        try await world[0].vault.sharing.share(ShareRequest(source: .memory(content), threshold: 2)) { _ in }
      }
      #expect(failure?.reason == "this was shared already")
    }

    @Test func `a content puts entries into the public header, made from the secret's id and its body`() async throws {
      let world = try TestWorld(2)
      let content = try content { (id, body) throws in
        var extensions = Extensions()
        extensions[1] = id.bytes + [UInt8(body.count)]
        return extensions
      }
      let report = try await world[0].vault.sharing.share(ShareRequest(source: .memory(content), threshold: 2)) { _ in }
      for member in world.members {
        let record = try member.vault.directory.resolve(report.id)
        let header = try member.vault.directory.header(of: record)
        #expect(header.extensions[1] == record.id.bytes + [3])
      }
    }

    @Test(arguments: [0, 1, 65_536, 1 << 20])
    func `a file of up to the limit can be recovered into memory`(byteCount: Int) async throws {
      let world = try TestWorld(2)
      let secret = randomBytes(byteCount)
      try await world.share(secret, threshold: 2)
      let content = try await world[1].vault.recovering.recoverContent(nil, passwords: Recovering.noPassword) { _ in }
      let body = content.body.withUnsafeBytes { Array($0) }
      let name = content.header.fileName.withUnsafeBytes { Array($0) }
      #expect(body == secret && name == Array("letter.txt".utf8))
    }

    @Test func `a longer one is refused with the advice to write it to a file`() async throws {
      let world = try TestWorld(2)
      try await world.share(randomBytes(5001), threshold: 2)
      let failure = await refusal { () async throws -> Bool in
        let content = try await world[1].vault.recovering.recoverContent(
          nil, limit: 5000, passwords: Recovering.noPassword
        ) { _ in }
        return content.body.count == 5001
      }
      #expect(failure?.code == .usage && failure?.hint?.contains("-o") == true)
    }

    @Test func `a secret that is something else inside than its header says is the dealer's fault`() async throws {
      let world = try TestWorld(3)
      let forged = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2, byteCount: 3000, kind: 2)
      try await forged.deliverAll()
      let failure = await refusal { try await world.recover(by: 1) }
      #expect(failure?.code == .damaged && failure?.reason.contains("something else") == true)
      #expect(world.desk(of: 1).isEmpty)
    }
  }

  @Suite struct SecretPasswords {
    private func share(
      _ secret: [UInt8], in world: TestWorld, password: String = "opensesame"
    ) async throws {
      let path = try world.scratch.write(secret, as: "letter.txt")
      _ = try await world[0].vault.sharing.share(
        ShareRequest(
          source: .file(path: path), threshold: 2,
          password: try SharePassword(secretBytes(password), logarithm: 15))
      ) { _ in }
    }

    /// Answers with these words in order and notes which attempts there were, and how many shares were in by then.
    private func answers(
      _ words: [String?], _ attempts: Collected<PasswordAttempt>
    ) -> PasswordSource {
      { (attempt) async throws in
        attempts.add(attempt)
        guard attempt.number <= words.count, let word = words[attempt.number - 1] else { return nil }
        do { return try secretBytes(word) } catch { throw VaultError(.other, "no memory") }
      }
    }

    @Test(arguments: [0, 1000, 3_000_000])
    func `a secret with a password opens with it, at the third try if need be`(byteCount: Int) async throws {
      let world = try TestWorld(2)
      let secret = randomBytes(byteCount)
      try await share(secret, in: world)
      let attempts = Collected<PasswordAttempt>()
      let path = world[1].desk + "/recovered"
      let report = try await world[1].vault.recovering.recover(
        nil, to: .file(path: path, overwrites: false), passwords: answers(["wrong", "", "opensesame"], attempts)
      ) { _ in }
      #expect(contents(path) == secret && report.byteCount == UInt64(byteCount))
      #expect(attempts.all.map(\.number) == [1, 2, 3] && attempts.all.allSatisfy { $0.logarithm == 15 })
    }

    @Test func `three wrong passwords end it, with an error of their own and nothing written`() async throws {
      let world = try TestWorld(2)
      try await share(randomBytes(1000), in: world)
      let attempts = Collected<PasswordAttempt>()
      let failure = await refusal {
        try await world[1].vault.recovering.recover(
          nil, to: .file(path: world[1].desk + "/recovered", overwrites: false),
          passwords: answers(["a", "b", "c", "opensesame"], attempts)
        ) { _ in }
      }
      #expect(failure?.code == .wrongPassword && attempts.all.count == 3)
      #expect(world.desk(of: 1).isEmpty)
    }

    @Test func `nobody there to say the password is told from a wrong one`() async throws {
      let world = try TestWorld(2)
      try await share(randomBytes(1000), in: world)
      let failure = await refusal { try await world.recover(by: 1) }
      #expect(failure?.code == .wrongPassword && failure?.reason.contains("none was given") == true)
    }

    @Test func `the password is asked for only when all shares are in`() async throws {
      let world = try TestWorld(2)
      try await share(randomBytes(1000), in: world)
      world.set(.refuses, for: world[1])
      let attempts = Collected<PasswordAttempt>()
      let failure = await refusal {
        try await world[0].vault.recovering.recover(
          nil, to: .file(path: world[0].desk + "/recovered", overwrites: false),
          passwords: answers(["opensesame"], attempts)
        ) { _ in }
      }
      #expect(failure?.code == .belowThreshold && attempts.all.isEmpty)
    }

    @Test func `neither an empty password nor a cost beyond the limits is taken`() async throws {
      let empty = await refusal { try SharePassword(secretBytes(""), logarithm: 16) }
      #expect(empty?.code == .usage)
      for logarithm in [14, 21] {
        let failure = await refusal { try SharePassword(secretBytes("x"), logarithm: logarithm) }
        #expect(failure?.code == .usage)
      }
    }
  }
}
