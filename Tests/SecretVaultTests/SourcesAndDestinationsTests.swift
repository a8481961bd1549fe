import Glibc
import Sodium
import Testing

@testable import SecretVault

extension VaultTests {
  @Suite struct SourcesAndDestinations {
    /// A pipe that gives these bytes and ends.
    private func pipe(giving bytes: [UInt8]) throws -> Int32 {
      var ends: [Int32] = [0, 0]
      try #require(Glibc.pipe(&ends) == 0)
      let writer = ends[1]
      inBackground {
        var done = 0
        while done < bytes.count {
          let count = bytes.withUnsafeBytes { write(writer, $0.baseAddress.map { $0 + done }, bytes.count - done) }
          guard count > 0 else { break }
          done += count
        }
        close(writer)
      }
      return ends[0]
    }

    @Test(arguments: [0, 1, 5000, 1 << 20, (1 << 20) + 1, (2 << 20) + 70_000])
    func `a stream of any length is shared under the name it is given`(byteCount: Int) async throws {
      let world = try TestWorld(2)
      let secret = randomBytes(byteCount)
      let source = try pipe(giving: secret)
      defer { close(source) }
      let report = try await world[0].vault.sharing.share(
        ShareRequest(source: .descriptor(source, name: "dump.sql"), threshold: 2)
      ) { _ in }
      #expect(report.isFinished)
      let recovered = try await world[1].vault.recovering.recover(
        nil, to: .folder(path: world[1].desk, overwrites: false)
      ) { _ in }
      #expect(recovered.suggestedName == "dump.sql" && recovered.path == world[1].desk + "/dump.sql")
      #expect(contents(world[1].desk + "/dump.sql") == secret)
      #expect(try FileList(world[0].folders.stagingPath).names.isEmpty)
    }

    @Test func `a descriptor gets the bytes and no name`() async throws {
      let world = try TestWorld(2)
      let secret = randomBytes(200_000)
      try await world.share(secret, threshold: 2)
      let path = world.scratch.path + "/stream"
      let descriptor = open(path, O_WRONLY | O_CREAT, 0o600)
      let report = try await world[1].vault.recovering.recover(nil, to: .descriptor(descriptor)) { _ in }
      close(descriptor)
      #expect(report.path == nil && report.suggestedName == "letter.txt" && report.byteCount == 200_000)
      #expect(contents(path) == secret)
    }

    @Test func `a descriptor that got a part and no more is called incomplete`() async throws {
      let world = try TestWorld(2)
      let secret = randomBytes(6_000_000)
      try await world.share(secret, threshold: 2)
      // The line lasts for two of three batches, so that the first is written, and nobody answers after it.
      world.set(.diesAfterReceiving(2_600_000), for: world[1])
      let path = world.scratch.path + "/stream"
      let descriptor = open(path, O_WRONLY | O_CREAT, 0o600)
      let failure = await refusal {
        try await world[0].vault.recovering.recover(nil, to: .descriptor(descriptor)) { event in
          if case .progress = event { world.set(.refuses, for: world[1]) }
        }
      }
      close(descriptor)
      let written = try #require(contents(path))
      #expect(!written.isEmpty && written.count < secret.count && written == Array(secret.prefix(written.count)))
      #expect(failure?.code == .belowThreshold)
      #expect(failure?.hint?.hasPrefix("what was written so far is incomplete") == true)
      #expect(failure?.description.contains("nothing was written") == false)
      #expect(try world[0].vault.overview.log(limit: 1).first?.event == "recovery-failed")
    }

    @Test func `a descriptor that got all of a dealer's inconsistent file is called incomplete, too`() async throws {
      let world = try TestWorld(3)
      let forged = try ForgedSecret(
        by: world[0], to: [world[1], world[2], world[0]], threshold: 2, byteCount: 1_000_000
      ) { fragments in fragments[1][400_000] ^= 1 }
      try await forged.deliverAll()
      let path = world.scratch.path + "/stream"
      let descriptor = open(path, O_WRONLY | O_CREAT, 0o600)
      let failure = await refusal {
        try await world[1].vault.recovering.recover(nil, to: .descriptor(descriptor)) { _ in }
      }
      close(descriptor)
      #expect(failure?.code == .damaged && contents(path)?.isEmpty == false)
      #expect(failure?.description.contains("what was written so far is incomplete") == true)
      #expect(failure?.description.contains("nothing was written") == false)
    }

    @Test func `a descriptor that got nothing is called so`() async throws {
      let world = try TestWorld(2)
      try await world.share([1, 2, 3], threshold: 2)
      world.set(.refuses, for: world[1])
      let path = world.scratch.path + "/stream"
      let descriptor = open(path, O_WRONLY | O_CREAT, 0o600)
      let failure = await refusal {
        try await world[0].vault.recovering.recover(nil, to: .descriptor(descriptor)) { _ in }
      }
      close(descriptor)
      #expect(contents(path) == [] && failure?.hint?.hasPrefix("nothing was written") == true)
    }

    @Test(arguments: [
      (".bashrc", "bashrc"), ("a\u{202e}b\u{7}c.txt", "abc.txt"), ("...", "recovered"), ("a\\b\\evil.exe", "evil.exe"),
      ("  spaced  ", "spaced"),
    ])
    func `a folder gets the file under a name that is safe`(name: String, safe: String) async throws {
      let world = try TestWorld(2)
      let source = try pipe(giving: [1, 2, 3])
      defer { close(source) }
      _ = try await world[0].vault.sharing.share(ShareRequest(source: .descriptor(source, name: name), threshold: 2)) {
        _ in
      }
      let report = try await world[1].vault.recovering.recover(
        nil, to: .folder(path: world[1].desk, overwrites: false)
      ) { _ in }
      #expect(report.path == world[1].desk + "/" + safe)
      #expect(world.desk(of: 1) == [world[1].desk + "/" + safe])
    }

    @Test func `a name that tries to climb out of the folder stays in it`() async throws {
      let world = try TestWorld(2)
      let source = try pipe(giving: [1])
      defer { close(source) }
      _ = try await world[0].vault.sharing.share(
        ShareRequest(source: .descriptor(source, name: "../../outside"), threshold: 2)
      ) { _ in }
      let report = try await world[1].vault.recovering.recover(
        nil, to: .folder(path: world[1].desk, overwrites: false)
      ) { _ in }
      #expect(report.path == world[1].desk + "/outside")
    }

    @Test func `a file of the same name in the folder is kept unless it may be overwritten`() async throws {
      let world = try TestWorld(2)
      try await world.share([1, 2, 3], threshold: 2)
      let path = world[1].desk + "/letter.txt"
      _ = try world.scratch.write([9], as: "ben-desk/letter.txt")
      let failure = try #require(
        await refusal {
          try await world[1].vault.recovering.recover(nil, to: .folder(path: world[1].desk, overwrites: false)) { _ in }
        })
      #expect(failure.code == .outputExists && contents(path) == [9])
      _ = try await world[1].vault.recovering.recover(nil, to: .folder(path: world[1].desk, overwrites: true)) { _ in }
      #expect(contents(path) == [1, 2, 3])
    }

    @Test func `a missing file, a folder, and a missing output folder are errors of input and output`() async throws {
      let world = try TestWorld(2)
      let vault = world[0].vault
      let missing = await refusal {
        try await vault.sharing.share(ShareRequest(source: .file(path: "/nowhere/at/all"), threshold: 2)) { _ in }
      }
      #expect(missing?.code == .inputOutput && missing?.reason.contains("/nowhere/at/all") == true)
      let folder = await refusal {
        try await vault.sharing.share(ShareRequest(source: .file(path: world[0].desk), threshold: 2)) { _ in }
      }
      #expect(folder?.code == .inputOutput && folder?.hint != nil)
      try await world.share([1], threshold: 2)
      let output = await refusal {
        try await vault.recovering.recover(nil, to: .file(path: "/nowhere/at/all", overwrites: false)) { _ in }
      }
      #expect(output?.code == .inputOutput)
    }

    @Test func `progress counts up to the whole, and every step is told`() async throws {
      let world = try TestWorld(3)
      let shared = Collected<ShareEvent>()
      let secret = randomBytes(500_000)
      try await world.share(secret, threshold: 2) { shared.add($0) }
      var sealed: UInt64 = 0
      var sent: UInt64 = 0
      for event in shared.all {
        if case .sealing(let done, let total) = event {
          sealed = max(sealed, done)
          #expect(done <= total ?? 0)
        }
        if case .sending(let done, let total) = event {
          sent = max(sent, done)
          #expect(done <= total)
        }
      }
      #expect(sealed > 500_000 && sent > 500_000)
      let recovered = Collected<RecoveryEvent>()
      _ = try await world.recover(by: 1) { recovered.add($0) }
      let progress = recovered.all.compactMap {
        if case .progress(let done, let total) = $0 { (done, total) } else { nil }
      }
      #expect(progress.last.map { $0.0 == $0.1 } == true)
      #expect(recovered.all.contains { if case .share(_, 2, 2) = $0 { true } else { false } })
    }
  }
}
