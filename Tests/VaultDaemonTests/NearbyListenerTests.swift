import Concurrency
import Foundation
import Logging
import PeerAuth
import SecretVault
import Synchronization
import TestTime
import Testing
import VaultStore

@testable import PeerLink
@testable import VaultDaemon

@Suite("The daemon's part that is found over Bluetooth", .timeLimit(.minutes(5)))
struct NearbyListenerTests {
  /// Counts what is shown.
  private final class TestRadio: BLERadio {
    let name = "test"
    let shown = Atomic(0)
    let (bell, ringer) = AsyncStream.makeStream(of: Void.self)

    func advertise(
      _ tag: BeaconTag, on adapters: [BLEAdapter], until stop: StopSignal, ready: () -> Void
    ) throws(BLEError) {
      shown.add(1, ordering: .relaxed)
      ringer.yield()
      ready()
      while !stop.isRaised(within: 5) {}
    }

    func scan(on adapters: [BLEAdapter], until stop: StopSignal, found: (BLESighting) -> Void) throws(BLEError) {}
  }

  /// Before a look at settings that have changed no time passes.
  private func vault(below folder: TestFolder) throws -> Vault {
    try folder.makeVault(skipping: [ChangePace.usual, ChangePace.steady])
  }

  @Test("told to stop while it looks for its adapters, it shows nothing more", arguments: [true, false])
  func late(isStopped: Bool) async throws {
    let folder = try TestFolder()
    defer { folder.remove() }
    let vault = try vault(below: folder)
    defer { vault.close() }
    _ = try vault.core.set("ble", to: "on")
    let radio = TestRadio()
    let (looking, looks) = AsyncStream.makeStream(of: Void.self)
    let mayFind = DispatchSemaphore(value: 0)
    let address = try #require(BLEAddress("00:AA:01:00:00:00", .public))
    let adapter = BLEAdapter(index: 9, address: address, isOn: true, knowsLE: true, hasLE: true, isPrivate: false)
    var listener = NearbyListener(
      vault: vault, log: TestFolder.log, presence: DaemonPresence(folder.folders))
    listener.find = { (_) throws(BLEError) in
      looks.yield()
      mayFind.wait()
      return BLEEquipment(radio: radio, adapters: [adapter])
    }
    let running = Task { [listener] in try await listener.run() }
    for await _ in looking { break }
    if isStopped { running.cancel() }
    mayFind.signal()
    if !isStopped {
      for await _ in radio.bell { break }
      running.cancel()
    }
    try await running.value
    #expect(radio.shown.load(ordering: .relaxed) == (isStopped ? 0 : 1))
  }
}
