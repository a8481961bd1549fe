import Concurrency
import LocalNames
import Logging
import PeerAuth
import SecretVault
import Synchronization
import TestTime
import Testing
import VaultStore

@testable import PeerLink
@testable import VaultDaemon

@Suite("The daemon's part that is found on the same network", .timeLimit(.minutes(5)))
struct LocalListenerTests {
  /// Tells what is offered, until it isn't any more.
  private final class TestNames: LocalNames {
    let name = "test"
    let (offers, offering) = AsyncStream.makeStream(of: LocalOffer?.self)
    let (ends, ending) = AsyncStream.makeStream(of: Void.self)

    func run(
      _ offer: LocalOffer?, type: LocalServiceType, until stop: StopSignal, ready: () -> Void,
      heard: (LocalEvent) -> Void
    ) throws(LocalNamesError) {
      ready()
      offering.yield(offer)
      while !stop.isRaised(within: 1000) {}
      ending.yield()
    }
  }

  /// Before a look at settings that have changed no time passes.
  private func vault(below folder: TestFolder) throws -> Vault {
    let vault = try folder.makeVault(skipping: [ChangePace.usual, ChangePace.steady])
    _ = try vault.core.set("lan", to: "on")
    return vault
  }

  /// A listener of a daemon that listens at a place.
  private func listener(
    _ vault: Vault, _ folder: TestFolder, _ names: TestNames, at places: [String]
  ) throws -> (LocalListener, DaemonPresence) {
    let presence = DaemonPresence(folder.folders)
    try presence.announce(listening: places)
    let dialler = LocalDialler(now: { 0 }, way: { names })
    return (LocalListener(vault: vault, dialler: dialler, log: TestFolder.log, presence: presence), presence)
  }

  @Test("it offers this hour's tag, and the port where it listens, and anew when that is another one")
  func offering() async throws {
    let folder = try TestFolder()
    defer { folder.remove() }
    let vault = try vault(below: folder)
    defer { vault.close() }
    let names = TestNames()
    let (listener, presence) = try listener(vault, folder, names, at: ["0.0.0.0:4721"])
    let running = Task { try await listener.run() }
    var offers = names.offers.makeAsyncIterator()
    let next = await offers.next() ?? nil
    let first = try #require(next)
    #expect(first.port == 4721)
    #expect(LocalTag.tag(in: first.texts) == (try vault.directory.beaconTag()))
    try presence.announce(listening: ["[::]:4799"])
    let then = await offers.next() ?? nil
    let second = try #require(then)
    #expect(second.port == 4799)
    #expect(second.label != first.label)
    running.cancel()
    try await running.value
    var ends = names.ends.makeAsyncIterator()
    for _ in 0..<2 {
      let end: Void? = await ends.next()
      #expect(end != nil)
    }
  }

  @Test("who listens nowhere only looks, and who listens at loopback alone says nothing")
  func silence() async throws {
    let folder = try TestFolder()
    defer { folder.remove() }
    let vault = try vault(below: folder)
    defer { vault.close() }
    let names = TestNames()
    let (listener, presence) = try listener(vault, folder, names, at: [])
    let running = Task { try await listener.run() }
    var offers = names.offers.makeAsyncIterator()
    var ends = names.ends.makeAsyncIterator()
    let next = await offers.next()
    let offer = try #require(next)
    #expect(offer == nil)
    try presence.announce(listening: ["127.0.0.1:4721"])
    let end: Void? = await ends.next()
    #expect(end != nil)
    // Had it begun to look, that would be heard first.
    for _ in 0..<1000 { await Task.yield() }
    try presence.announce(listening: ["0.0.0.0:4722"])
    let then = await offers.next() ?? nil
    #expect(then?.port == 4722)
    running.cancel()
    try await running.value
  }

  @Test("with the setting off it ends, and goes on when it is on again")
  func setting() async throws {
    let folder = try TestFolder()
    defer { folder.remove() }
    let vault = try vault(below: folder)
    defer { vault.close() }
    let names = TestNames()
    let (listener, presence) = try listener(vault, folder, names, at: ["0.0.0.0:4721"])
    _ = try vault.core.set("lan", to: "off")
    let running = Task { try await listener.run() }
    _ = try vault.core.set("lan", to: "on")
    var offers = names.offers.makeAsyncIterator()
    let first = await offers.next() ?? nil
    #expect(first?.port == 4721)
    _ = try vault.core.set("lan", to: "off")
    var ends = names.ends.makeAsyncIterator()
    let end: Void? = await ends.next()
    #expect(end != nil)
    try presence.announce(listening: ["0.0.0.0:4722"])
    _ = try vault.core.set("lan", to: "on")
    let second = await offers.next() ?? nil
    #expect(second?.port == 4722)
    running.cancel()
    try await running.value
  }
}
