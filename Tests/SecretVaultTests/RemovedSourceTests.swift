import Glibc
import Sodium
import Testing

@testable import SecretVault

extension VaultTests {
  /// The source file is to be removed; something is in the way.
  @Suite struct RemovedSources {
    let world: TestWorld
    let path: String

    init() throws {
      world = try TestWorld(2)
      _ = world.scratch.makeFolder("papers")
      path = try world.scratch.write([1, 2, 3], as: "papers/diary")
    }

    /// Shares the file; `meddle` runs when it has been read and before anything is delivered.
    private func share(_ path: String, meddle: @escaping @Sendable () throws -> Void) async throws -> ShareReport {
      let problems = Collected<String>()
      let report = try await world[0].vault.sharing.share(
        ShareRequest(source: .file(path: path), threshold: 2, removesSource: true)
      ) { event in
        guard case .sealed = event else { return }
        do { try meddle() } catch { problems.add("\(error)") }
      }
      #expect(problems.all.isEmpty)
      // Whatever became of the source, the secret is there.
      #expect(report.isFinished && report.id.count == 32)
      #expect(try await world.recover(by: 1, report.id).bytes == [1, 2, 3])
      return report
    }

    @Test func `a file that nobody touched is removed`() async throws {
      let report = try await share(path) {}
      #expect(report.sourceRemoved && report.sourceRemovalFailure == nil && contents(path) == nil)
    }

    @Test func `a file that was replaced meanwhile stays, and the report says so`() async throws {
      let path = path
      let scratch = world.scratch
      let report = try await share(path) {
        let other = try scratch.write([1, 2, 3], as: "papers/other")
        try #require(rename(other, path) == 0)
      }
      #expect(!report.sourceRemoved && contents(path) == [1, 2, 3])
      #expect(
        report.sourceRemovalFailure == "\(path) was changed or replaced after it was shared; it was left in place")
    }

    @Test func `a file that was written to meanwhile stays, with what was written`() async throws {
      let scratch = world.scratch
      let report = try await share(path) { _ = try scratch.write([4, 5, 6], as: "papers/diary") }
      #expect(!report.sourceRemoved && contents(path) == [4, 5, 6])
      #expect(report.sourceRemovalFailure?.contains("changed or replaced") == true)
    }

    @Test func `a file that was replaced before anything else happened is not the one that was read`() throws {
      let opened = try FileSource(path: path)
      let other = try world.scratch.write([1, 2, 3], as: "papers/other")
      try #require(rename(other, path) == 0)
      let removable = try #require(try RemovableSource(.file(path: path), opened))
      #expect(removable.remove()?.contains("changed or replaced") == true && contents(path) == [1, 2, 3])
    }

    @Test func `a link in its place stays, and so does the file that it leads to`() async throws {
      let path = path
      let scratch = world.scratch
      let report = try await share(path) {
        let moved = scratch.path + "/papers/moved"
        try #require(rename(path, moved) == 0 && symlink(moved, path) == 0)
      }
      #expect(!report.sourceRemoved && report.sourceRemovalFailure?.contains("changed or replaced") == true)
      #expect(contents(path) == [1, 2, 3])
    }

    @Test func `a file that can't be found any more is reported, not thrown`() async throws {
      let path = path
      let scratch = world.scratch
      let report = try await share(path) {
        try #require(rename(scratch.path + "/papers", scratch.path + "/elsewhere") == 0)
      }
      #expect(!report.sourceRemoved)
      #expect(report.sourceRemovalFailure == "can't remove \(path): no such file or directory")
      #expect(contents(scratch.path + "/elsewhere/diary") == [1, 2, 3])
    }

    @Test(.enabled(if: geteuid() != 0, "root may remove anything"))
    func `a file in a folder that may not be written to is reported, not thrown`() async throws {
      let folder = world.scratch.path + "/papers"
      let report = try await share(path) { try #require(chmod(folder, 0o500) == 0) }
      chmod(folder, 0o700)
      #expect(!report.sourceRemoved && contents(path) == [1, 2, 3])
      #expect(report.sourceRemovalFailure == "can't remove \(path): permission denied")
    }

    @Test(arguments: [false, true])
    func `with no share here it is removed only if the holders can find one another`(includesLabels: Bool) async throws
    {
      let world = try TestWorld(3, everybodyMeets: false)
      for other in 1...2 {
        try world[0].meets(world[other])
        try world[other].meets(world[0])
      }
      let path = try world.scratch.write([1, 2, 3], as: "diary")
      let report = try await world[0].vault.sharing.share(
        ShareRequest(
          source: .file(path: path), threshold: 2, includesLabels: includesLabels, keepsOwnShare: false,
          removesSource: true)
      ) { _ in }
      #expect(report.isFinished && report.hasEnoughPlaced && report.isRecoverable == includesLabels)
      #expect(report.sourceRemoved == includesLabels && (contents(path) == nil) == includesLabels)
      #expect((report.sourceRemovalFailure == nil) == includesLabels)
      if includesLabels {
        #expect(try await world.recover(by: 1).bytes == [1, 2, 3])
      } else {
        #expect(report.sourceRemovalFailure?.hasPrefix("this device keeps no share") == true)
        #expect(await refusal { try await world.recover(by: 1) }?.code == .belowThreshold)
      }
    }

    @Test func `a link is refused before anything is shared`() async throws {
      let link = world.scratch.path + "/link"
      try #require(symlink(path, link) == 0)
      let failure = await refusal {
        try await world[0].vault.sharing.share(
          ShareRequest(source: .file(path: link), threshold: 2, removesSource: true)
        ) { _ in }
      }
      #expect(failure?.code == .usage && failure?.reason.hasPrefix("\(link) is a link") == true)
      #expect(world.network.dialled.isEmpty)
      #expect(
        try world[0].vault.overview.secrets().isEmpty && contents(path) == [1, 2, 3] && contents(link) == [1, 2, 3])
      // Without the wish to remove it, it is a file like any other.
      let report = try await world[0].vault.sharing.share(ShareRequest(source: .file(path: link), threshold: 2)) { _ in
      }
      #expect(report.isFinished && !report.sourceRemoved && report.sourceRemovalFailure == nil)
    }
  }
}
