import Glibc
import PeerAuth
import Sodium
import Testing

@testable import SecretVault

extension VaultTests {
  @Suite struct Sharing {
    @Test(arguments: [0, 1, 1000, 65535, 65536, 65537, 300_000])
    func `a file of any size is recovered byte for byte by every holder`(byteCount: Int) async throws {
      let world = try TestWorld(3)
      let secret = randomBytes(byteCount)
      let report = try await world.share(secret, threshold: 2)
      #expect(report.isFinished && report.placed == 3)
      for member in world.members.indices {
        let recovered = try await world.recover(by: member)
        #expect(recovered.bytes == secret)
        #expect(recovered.report.byteCount == UInt64(byteCount))
      }
    }

    @Test func `any threshold of any number of holders recovers several mebibytes`() async throws {
      for _ in 0..<3 {
        let count = Int.random(in: 2...8)
        let threshold = Int.random(in: 2...count)
        let world = try TestWorld(count)
        let secret = randomBytes(.random(in: 0...(3 << 20)))
        try await world.share(secret, threshold: threshold)
        let member = Int.random(in: 0..<count)
        let recovered = try await world.recover(by: member)
        #expect(recovered.bytes == secret, "\(threshold) of \(count), \(secret.count) bytes")
      }
    }

    @Test func `no folder holds the plaintext or the whole ciphertext`() async throws {
      let world = try TestWorld(3)
      let secret = randomBytes(300_000)
      let report = try await world.share(secret, threshold: 3)
      let header = try world[0].vault.directory.header(of: world[0].vault.directory.resolve(report.id))
      for member in world.members {
        var fragmentBytes = 0
        for file in files(below: world.scratch.path + "/" + member.name) {
          let bytes = try #require(contents(file))
          for place in [0, 1000, 65_000, 150_000, 299_900] {
            #expect(!contains(bytes, Array(secret[place..<(place + 64)])), "\(file)")
          }
          if file.contains("/fragments/") { fragmentBytes += bytes.count }
        }
        // Its own fragment, with a little for the tree behind it, and nobody else's.
        #expect(fragmentBytes < Int(header.dispersal.fragmentByteCount) + 4096)
        #expect(UInt64(fragmentBytes) < header.dispersal.byteCount / 2)
      }
    }

    @Test func `the dealer keeps no fragment of a delivered share`() async throws {
      let world = try TestWorld(4)
      try await world.prove()
      world.set(.refuses, for: world[3])
      let report = try await world.share(randomBytes(5000), threshold: 2)
      #expect(report.deliveries.count { $0.state == .delivered } == 2)
      let left = try FileList(world[0].folders.fragmentsPath).names.sorted()
      #expect(left == ["\(report.id).1", "\(report.id).4"])
    }

    @Test func `every holder sees who dealt what, and is told of it`() async throws {
      let world = try TestWorld(3)
      _ = try world[1].vault.core.set("notify-command", to: "tell")
      let report = try await world.share(randomBytes(10), threshold: 2, description: "the will")
      let held = try #require(try world[1].vault.overview.secrets().first)
      #expect(held.id == report.id && held.description == "the will" && held.origin == .held)
      #expect(held.dealer == "ada" && held.ownIndex == 2 && held.threshold == 2 && held.shareCount == 3)
      let told = try #require(world.notifications.told(to: world[1]).first)
      #expect(told.command == "tell" && told.event.event == "share-received" && told.event.peer == "ada")
      #expect(told.event.secret == report.id && told.event.description == "the will")
      #expect(try world[1].vault.overview.log(limit: 10).contains { $0.event == "share-received" && $0.peer == "ada" })
    }

    @Test func `a dealer without an own share can't recover, and the holders can`() async throws {
      let world = try TestWorld(3)
      let secret = randomBytes(2000)
      let report = try await world.share(secret, threshold: 2, keepsOwnShare: false)
      #expect(report.shareCount == 2)
      let failure = try #require(await refusal { try await world.recover(by: 0) })
      #expect(failure.code == .refused && failure.reason.contains("holds no share"))
      #expect(try await world.recover(by: 2).bytes == secret)
    }

    @Test func `the source is removed when asked for, and only once the secret is recoverable`() async throws {
      let world = try TestWorld(3)
      try await world.prove()
      let path = try world.scratch.write([1, 2, 3], as: "diary")
      var request = ShareRequest(source: .file(path: path), threshold: 3, removesSource: true)
      world.set(.refuses, for: world[2])
      let unfinished = try await world[0].vault.sharing.share(request) { _ in }
      #expect(!unfinished.isRecoverable && !unfinished.sourceRemoved && contents(path) == [1, 2, 3])
      request.threshold = 2
      let finished = try await world[0].vault.sharing.share(request) { _ in }
      #expect(finished.isRecoverable && finished.sourceRemoved && contents(path) == nil)
    }

    @Test(arguments: [-1, 0, 1, 4])
    func `a threshold that protects nothing or can't be met is refused before anybody is dialled`(
      threshold: Int
    ) async throws {
      let world = try TestWorld(3)
      let failure = try #require(await refusal { try await world.share([1], threshold: threshold) })
      #expect(failure.code == .usage && failure.hint != nil)
      #expect(world.network.dialled.isEmpty)
    }
  }
}
