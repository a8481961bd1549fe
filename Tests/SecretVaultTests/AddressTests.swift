import PeerAuth
import TestTime
import Testing

@testable import SecretVault

extension VaultTests {
  /// Peers that are known to be in several places.
  @Suite struct Addresses {
    private let world: TestWorld
    private let silent: PeerAddress
    private let gone: PeerAddress
    /// Before another address is tried.
    private let pause = VaultEnvironment.Deadlines.distinct.nextAddress

    init() throws {
      world = try TestWorld(2)
      silent = try PeerAddress(host: "silent", port: 4721)
      gone = try PeerAddress(host: "gone", port: 4721)
      world.network.serve(silent) { _ in }
      world.network.set(.hangs, at: silent)
    }

    private func opening(_ addresses: [PeerAddress]) throws -> SecretVault.Opening {
      let ada = world[0].vault
      return SecretVault.Opening(
        recipient: Recipient(name: "ben", keys: world[1].vault.core.identity.keys, addresses: addresses),
        identity: ada.core.identity, ownCard: try ada.core.ownCard(), environment: world[0].environment)
    }

    @Test func `one that answers nobody holds up the next for a moment, and is let go`() async throws {
      let opening = try opening([silent, world[1].address, gone])
      let attempt = Task { try await NetworkLink().open(opening) }
      // The pause may begin before what it is a pause after.
      #expect(
        try await eventually {
          world.clock.hasSleeper(for: pause) && world.network.dialled == [silent.description]
        })
      world.clock.skip(pause)
      let conversation = try await attempt.value
      #expect(conversation.place == world[1].address.description)
      await conversation.close()
      #expect(try await eventually { world.network.openNow == 0 })
    }

    @Test func `one where nobody listens holds up the next not at all`() async throws {
      let conversation = try await NetworkLink().open(try opening([gone, world[1].address]))
      #expect(conversation.place == world[1].address.description)
      #expect(world.network.dialled == [gone.description, world[1].address.description])
      await conversation.close()
    }

    @Test func `where the first answers at once the next isn't tried`() async throws {
      await (try await NetworkLink().open(try opening([world[1].address, gone, silent]))).close()
      #expect(world.network.dialled == [world[1].address.description])
    }

    @Test func `of two that lead to the peer in the same moment one session is left`() async throws {
      world.clock.skip(pause)
      let (other, delay) = (try PeerAddress(host: "elsewhere", port: 4721), Duration.milliseconds(70))
      world.network.serve(other) { [ben = world[1].vault] in await ben.answering.answer($0) }
      world.network.set(.slow(delay), at: other)
      world.set(.slow(delay), for: world[1])
      let opening = try opening([other, world[1].address])
      let attempt = Task { try await NetworkLink().open(opening) }
      await world.clock.isAwaited(delay, by: 2)
      world.clock.skip(delay)
      let conversation = try await attempt.value
      #expect(try await eventually { world.network.openNow == 1 })
      await conversation.close()
      #expect(try await eventually { world.network.openNow == 0 })
    }

    @Test func `where none leads to the peer that is told at once, of the last`() async throws {
      world.set(.refuses, for: world[1])
      let opening = try opening([world[1].address, gone])
      let failure = await #expect(throws: LinkFailure.self) { try await NetworkLink().open(opening) }
      #expect(failure?.kind == .unreachable && failure?.reason.contains("no such host") == true)
    }
  }
}
