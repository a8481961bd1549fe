import PeerAuth
import Synchronization
import TestTime
import Testing

@testable import SecretVault

extension VaultTests {
  /// Peers on one network who know no address of one another.
  @Suite struct OnTheSameNetwork {
    /// What is heard on the network, and what is done about it.
    private final class Neighbourhood: Sendable {
      let places = Mutex<[LocalPlace]>([])
      let asked = Atomic(0)
      let reached = Atomic(0)

      func find(_ key: BeaconKey) -> [LocalPlace] {
        asked.add(1, ordering: .relaxed)
        return places.withLock { $0 }
      }

      /// Has a place be heard where a member answers.
      func hear(_ member: Member, at host: String, in world: TestWorld) throws {
        let address = try PeerAddress(host: host, port: 4721)
        let network = world.network
        network.serve(address) { [member] in await member.vault.answering.answer($0) }
        let place = LocalPlace(
          address.description,
          connect: { () async throws(TransportError) in try await network.connect(address) },
          reached: { [self] in reached.add(1, ordering: .relaxed) })
        places.withLock { $0.append(place) }
      }
    }

    private let neighbourhood = Neighbourhood()

    /// Members whose known addresses lead nowhere.
    private func world(_ count: Int) throws -> TestWorld {
      let neighbourhood = neighbourhood
      let world = try TestWorld(count, findLocally: { neighbourhood.find($0) })
      for member in world.members {
        world.set(.refuses, for: member)
        _ = try member.vault.core.set("lan", to: "on")
      }
      return world
    }

    @Test func `a peer is reached where it is heard`() async throws {
      let world = try world(2)
      try neighbourhood.hear(world[1], at: "192.0.2.7", in: world)
      #expect(try await world[0].vault.links.pingPeer("ben").address == "192.0.2.7:4721")
      #expect(neighbourhood.reached.load(ordering: .relaxed) == 1)
    }

    @Test func `a peer without any known address is, too`() async throws {
      let world = try world(2)
      try neighbourhood.hear(world[1], at: "192.0.2.7", in: world)
      let vault = world[0].vault
      let known = try vault.directory.recipient(vault.directory.find("ben"))
      let recipient = Recipient(name: known.name, keys: known.keys, addresses: [], findLocally: known.findLocally)
      #expect(try await vault.links.ask(PingAsker(), of: recipient).address == "192.0.2.7:4721")
    }

    @Test func `of a peer without an address it is not said that nobody can call on it, unless nobody looks`()
      async throws
    {
      let world = try world(2)
      let vault = world[0].vault
      let ben = try vault.directory.find("ben")
      for isOn in [true, false] {
        _ = try vault.core.set("lan", to: isOn ? "on" : "off")
        let known = try vault.directory.recipient(ben)
        let recipient = Recipient(name: known.name, keys: known.keys, addresses: [], findLocally: known.findLocally)
        #expect(recipient.canBeCalled == isOn)
      }
    }

    @Test func `somebody else who shows its tag is not the peer, and the peer is found beside him`() async throws {
      let world = try world(3)
      try neighbourhood.hear(world[2], at: "192.0.2.66", in: world)
      let error = await refusal { try await world[0].vault.links.pingPeer("ben") }
      #expect(error?.code == .unreachable)
      #expect(neighbourhood.reached.load(ordering: .relaxed) == 0)
      try neighbourhood.hear(world[1], at: "192.0.2.7", in: world)
      #expect(try await world[0].vault.links.pingPeer("ben").address == "192.0.2.7:4721")
      #expect(neighbourhood.reached.load(ordering: .relaxed) == 1)
    }

    @Test func `who isn't heard is unreachable for the reason that its address gives`() async throws {
      let plain = try TestWorld(2)
      plain.set(.refuses, for: plain[1])
      let expected = await refusal { try await plain[0].vault.links.pingPeer("ben") }
      let world = try world(2)
      let error = await refusal { try await world[0].vault.links.pingPeer("ben") }
      #expect(error?.reason == expected?.reason)
      #expect(neighbourhood.asked.load(ordering: .relaxed) == 1)
      let vault = world[0].vault
      let known = try vault.directory.recipient(vault.directory.find("ben"))
      let recipient = Recipient(name: known.name, keys: known.keys, addresses: [], findLocally: known.findLocally)
      await #expect {
        try await vault.links.ask(PingAsker(), of: recipient)
      } throws: { error in
        (error as? LinkFailure)?.reason == "has no known address, and is not on this network"
      }
    }

    @Test func `with the setting off nobody is looked for`() async throws {
      let world = try world(2)
      try neighbourhood.hear(world[1], at: "192.0.2.7", in: world)
      _ = try world[0].vault.core.set("lan", to: "off")
      let error = await refusal { try await world[0].vault.links.pingPeer("ben") }
      #expect(error?.code == .unreachable)
      #expect(neighbourhood.asked.load(ordering: .relaxed) == 0)
      _ = try world[0].vault.core.set("lan", to: "on")
      #expect(try await world[0].vault.links.pingPeer("ben").address == "192.0.2.7:4721")
    }
  }
}
