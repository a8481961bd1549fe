import PeerAuth
import Testing

@testable import SecretVault

extension VaultTests {
  /// Peers that are known to be in several places.
  @Suite struct Addresses {
    private let world: TestWorld
    private let silent: PeerAddress
    private let gone: PeerAddress
    /// Pauses before another address is tried: they end when the flag is raised.
    private let pauses = Counter()
    private let isOver = Flag()

    init() throws {
      world = try TestWorld(2)
      silent = try PeerAddress(host: "silent", port: 4721)
      gone = try PeerAddress(host: "gone", port: 4721)
      world.network.serve(silent) { _ in }
      world.network.set(.hangs, at: silent)
    }

    private func opening(_ addresses: [PeerAddress]) throws -> SecretVault.Opening {
      var environment = world[0].environment
      let pause = environment.deadlines.nextAddress
      environment.sleep = { [pauses, isOver] duration in
        guard duration == pause else { return try await Task.sleep(for: duration) }
        pauses.increment()
        while !isOver.isUp { try await Task.sleep(for: .milliseconds(5)) }
      }
      let ada = world[0].vault
      return SecretVault.Opening(
        recipient: Recipient(name: "ben", keys: world[1].vault.identity.keys, addresses: addresses),
        identity: ada.identity, ownCard: try ada.ownCard(), environment: environment)
    }

    @Test func `one that answers nobody holds up the next for a moment, and is let go`() async throws {
      let opening = try opening([silent, world[1].address, gone])
      let attempt = Task { try await opening.byNetwork() }
      // The pause may begin before what it is a pause after.
      #expect(try await eventually { pauses.value == 1 && world.network.dialled == [silent.description] })
      isOver.raise()
      let conversation = try await attempt.value
      #expect(conversation.place == world[1].address.description)
      await conversation.close()
      #expect(try await eventually { world.network.openNow == 0 })
    }

    @Test func `one where nobody listens holds up the next not at all`() async throws {
      let conversation = try await opening([gone, world[1].address]).byNetwork()
      #expect(conversation.place == world[1].address.description && !isOver.isUp)
      #expect(world.network.dialled == [gone.description, world[1].address.description])
      await conversation.close()
    }

    @Test func `where the first answers at once the next isn't tried`() async throws {
      await (try opening([world[1].address, gone, silent]).byNetwork()).close()
      #expect(world.network.dialled == [world[1].address.description])
    }

    @Test func `of two that lead to the peer in the same moment one session is left`() async throws {
      isOver.raise()
      let other = try PeerAddress(host: "elsewhere", port: 4721)
      world.network.serve(other) { [ben = world[1].vault] in await ben.answer($0) }
      world.network.set(.slow(.milliseconds(50)), at: other)
      world.set(.slow(.milliseconds(50)), for: world[1])
      let conversation = try await opening([other, world[1].address]).byNetwork()
      #expect(try await eventually { world.network.openNow == 1 })
      await conversation.close()
      #expect(try await eventually { world.network.openNow == 0 })
    }

    @Test func `where none leads to the peer that is told at once, of the last`() async throws {
      world.set(.refuses, for: world[1])
      let opening = try opening([world[1].address, gone])
      let failure = await #expect(throws: LinkFailure.self) { try await opening.byNetwork() }
      #expect(failure?.kind == .unreachable && failure?.reason.contains("no such host") == true)
      #expect(!isOver.isUp)
    }
  }
}
