import PeerAuth
import Synchronization
import TestTime

@testable import SecretVault

/// A room in which members hear each other's tags, as over Bluetooth. They are found by what they show, and by nothing else.
final class TestRoom: Sendable {
  /// What goes wrong between them, as on a network.
  let air: TestNetwork
  /// The time of those who are in it.
  let clock = TestClock()
  private let members = Mutex<[Member]>([])
  private let calls = Mutex(0)
  private let turns = Mutex(0)

  init() { air = TestNetwork(clock) }

  /// How often somebody was looked for.
  var callCount: Int { calls.withLock { $0 } }

  /// How often somebody who dialled spoke after having listened, the first word included: over a radio each time costs two turns.
  var turnCount: Int { turns.withLock { $0 } }

  func resetTurns() { turns.withLock { $0 = 0 } }

  func enter(_ member: Member) {
    members.withLock { $0.append(member) }
    air.serve(member.address) { [member] in await member.vault.answering.answer(AirTransport(inner: $0)) }
  }

  /// Nobody hears this member any more.
  func leave(_ member: Member) { members.withLock { $0.removeAll { $0 === member } } }

  /// Everybody goes: they know this room, and it must not keep them for ever.
  func empty() {
    members.withLock { $0 = [] }
    air.forgetHosts()
  }

  func connect(_ access: NearbyAccess) async throws(TransportError) -> any PeerTransport {
    calls.withLock { $0 += 1 }
    Happenings.deed()
    let present = members.withLock { $0 }
    for member in present where member.vault.core.nearbySettings().isOn {
      guard let shown = try? member.vault.directory.beaconTag(),
        let tags = try? access.beacon.tags(at: member.environment.now()), tags.contains(shown)
      else { continue }
      return DialledTransport(inner: try await air.connect(member.address)) { [self] in turns.withLock { $0 += 1 } }
    }
    throw .unreachable("not heard over Bluetooth")
  }
}

/// A connection that says that it came through the air.
private struct AirTransport: PeerTransport {
  let inner: any PeerTransport

  var remoteDescription: String { PeerPlace.bluetoothPrefix + "00:AA:01:00:00:00" }
  func read(atMost limit: Int) async throws(TransportError) -> [UInt8] { try await inner.read(atMost: limit) }
  func write(_ bytes: [UInt8]) async throws(TransportError) { try await inner.write(bytes) }
  func close() async { await inner.close() }
}

/// The dialling end, which notices changes of direction.
private final class DialledTransport: PeerTransport {
  private let inner: any PeerTransport
  private let speaks: @Sendable () -> Void
  private let hasListened = Mutex(true)

  init(inner: any PeerTransport, speaks: @escaping @Sendable () -> Void) {
    self.inner = inner
    self.speaks = speaks
  }

  var remoteDescription: String { inner.remoteDescription }

  func read(atMost limit: Int) async throws(TransportError) -> [UInt8] {
    let bytes = try await inner.read(atMost: limit)
    hasListened.withLock { $0 = true }
    return bytes
  }

  func write(_ bytes: [UInt8]) async throws(TransportError) {
    let isTurn = hasListened.withLock { hasListened in
      defer { hasListened = false }
      return hasListened
    }
    if isTurn { speaks() }
    try await inner.write(bytes)
  }

  func close() async { await inner.close() }
}
