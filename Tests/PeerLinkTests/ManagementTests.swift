import Concurrency
import CShims
import Foundation
import Glibc
import PeerAuth
import Synchronization
import Testing

@testable import PeerLink

@Suite("The kernel's management of Bluetooth adapters", .timeLimit(.minutes(5)))
struct ManagementTests {
  /// Recorded in a guest with two virtual controllers, kernel 6.1: what the kernel sent.
  private static let recorded = [
    "0100ffff0900030000020001000000",
    "0200000003003d0014",
    "010000000b003d00007ff001001f1f0500",
    "0100000004003e000001",
    "23000000010001",
  ]

  @Test("commands are those that a kernel has taken")
  func commands() throws {
    let tag = try #require(BeaconTag(Array(0..<8)))
    let advertising = ManagementCommand.addAdvertising(
      instance: 1, data: AdvertisementData.advertisement(of: tag), response: AdvertisementData.scanResponse)
    // Sent to the kernel that the recorded answers are of.
    let sent: [(ManagementCommand, UInt16, String)] = [
      (.readAdapters, ManagementEvent.noAdapter, "0300ffff0000"),
      (.readAdapter, 0, "040000000000"),
      (.readAdvertising, 0, "3d0000000000"),
      (.startDiscovery, 1, "23000100010006"),
      (.stopDiscovery, 1, "24000100010006"),
      (.setLE(true), 0, "0d000000010001"),
      (.removeAdvertising(instance: 1), 0, "3f000000010001"),
      (
        advertising, 0,
        "3e00000037000103000000000000001a1219211754bacfdc937d8e9c493df3d03f6f2200010203040506071107"
          + "1754bacfdc937d8e9c493df3d03f6f22"
      ),
    ]
    for (command, adapter, text) in sent { #expect(command.encoded(adapter: adapter) == (try hexadecimal(text))) }
  }

  @Test("recorded events are understood")
  func events() throws {
    let contents = try Self.recorded.map { try ManagementEvent(bytes: hexadecimal($0)).content }
    guard case .answer(3, 0, let list) = contents[0] else { throw Unexpected(contents[0]) }
    #expect(try ManagementResult.adapters(list) == [1, 0])
    #expect(contents[1] == .answer(command: 0x3D, status: 0x14, result: []))
    guard case .answer(0x3D, 0, let features) = contents[2] else { throw Unexpected(contents[2]) }
    #expect(try ManagementResult.advertising(features).limit == 5)
    #expect(try ManagementResult.advertising(features).taken.isEmpty)
    #expect(contents[3] == .answer(command: 0x3E, status: 0, result: [1]))
    #expect(contents[4] == .other(0x23))
  }

  @Test("an adapter says whether it is on, and whether it hides its address")
  func adapters() throws {
    // The first bytes of a recorded answer; the names behind them matter to nobody.
    let facts = try hexadecimal("00000001aa0009f1051bbe0100000a0000") + [UInt8](repeating: 0, count: 263)
    let adapter = try ManagementResult.adapter(0, facts)
    #expect(adapter.address.description == "00:AA:01:00:00:00")
    #expect(adapter.name == "hci0")
    #expect(!adapter.isOn && adapter.knowsLE && adapter.hasLE && !adapter.isPrivate)
    let changed = Array(facts[..<13]) + [0x01, 0x22, 0, 0] + facts[17...]
    let other = try ManagementResult.adapter(3, changed)
    #expect(other.isOn && other.hasLE && other.isPrivate)
    #expect(throws: ManagementEvent.Fault.truncated) { try ManagementResult.adapter(0, Array(facts[..<16])) }
    #expect(throws: ManagementEvent.Fault.tooLong) { try ManagementResult.adapters([33, 0]) }
    #expect(throws: ManagementEvent.Fault.truncated) { try ManagementResult.adapters([2, 0, 1, 0, 2]) }
  }

  @Test("what is cut off, longer than it says, or too long is refused")
  func broken() throws {
    let found = try hexadecimal(Self.found)
    for bytes in try Self.recorded.dropLast().map(hexadecimal) + [found] {
      for count in 0..<min(bytes.count, 9) {
        #expect(throws: ManagementEvent.Fault.self) { try ManagementEvent(bytes: Array(bytes[..<count])) }
      }
    }
    #expect(throws: ManagementEvent.Fault.malformed) { try ManagementEvent(bytes: found + [0]) }
    #expect(throws: ManagementEvent.Fault.tooLong) {
      try ManagementEvent(bytes: [UInt8](repeating: 0, count: ManagementEvent.byteLimit + 1))
    }
    var longer = found
    longer[18] += 1
    #expect(throws: ManagementEvent.Fault.truncated) { try ManagementEvent(bytes: longer) }
  }

  @Test("a recorded advertisement is a vault's")
  func heard() throws {
    let event = try ManagementEvent(bytes: hexadecimal(Self.found))
    guard case .found(let address, _, let data) = event.content else { throw Unexpected(event.content) }
    #expect(address.description == "00:AA:01:00:00:00")
    #expect(address.kind == .public)
    #expect(try AdvertisementData(bytes: data).tag?.bytes == Array(0..<8))
  }

  private static let found =
    "120001003d0000000001aa00017f000000002f0002010619211754bacfdc937d8e9c493df3d03f6f"
    + "22000102030405060711071754bacfdc937d8e9c493df3d03f6f22"

  // MARK: - A radio at a kernel that the test plays

  private let adapter: BLEAdapter
  private let tag: BeaconTag
  private let stop: StopSignal
  /// Looks for a long time, unless the kernel ends it, and waits for the end as long.
  private let patient = KernelRadio(rhythm: 600_000, settling: 600_000)

  init() throws {
    adapter = try .test(1)
    tag = try #require(BeaconTag(Array(0..<8)))
    stop = try #require(StopSignal())
  }

  private func advertise(at kernel: TestKernel) -> Task<Void, any Error> {
    let (adapter, tag, stop, socket) = (adapter, tag, stop, kernel.client)
    return Task.detached {
      try await WaitingThread.run { () throws(BLEError) in
        var management = ManagementSocket(owning: socket)
        try KernelRadio().advertise(tag, on: [adapter], with: &management, until: stop) {}
      }
    }
  }

  private func scan(
    at kernel: TestKernel, found: @escaping @Sendable (BLESighting) -> Void = { _ in }
  ) -> Task<Void, any Error> {
    let (adapter, radio, stop, socket) = (adapter, patient, stop, kernel.client)
    return Task.detached {
      try await WaitingThread.run { () throws(BLEError) in
        var management = ManagementSocket(owning: socket)
        try radio.scan(on: [adapter], with: &management, until: stop, found: found)
      }
    }
  }

  @Test("an advertisement is taken back at the end")
  func advertisement() async throws {
    let kernel = try TestKernel()
    let advertising = advertise(at: kernel)
    await kernel.wait(for: 0x3E)
    stop.raise()
    try await advertising.value
    #expect(kernel.commands == [0x3D, 0x3E, 0x3F])
  }

  @Test("discovery is begun again when it ends by itself, and what another adapter hears doesn't count")
  func discovery() async throws {
    let kernel = try TestKernel()
    let sightings = Watched<[BLESighting]>([])
    let scanning = scan(at: kernel) { sighting in sightings.change { $0.append(sighting) } }
    await kernel.wait(for: 0x23)
    kernel.send(try hexadecimal("130001000200") + [6, 0])
    await kernel.wait(for: 0x23, times: 2)
    var foreign = try hexadecimal(Self.found)
    foreign[2] = 0
    kernel.send(foreign)
    kernel.send(try hexadecimal(Self.found))
    await sightings.until { !$0.isEmpty }
    stop.raise()
    try await scanning.value
    #expect(sightings.value.count == 1)
    #expect(sightings.value.first?.tag == tag)
    #expect(kernel.commands == [0x23, 0x23, 0x24])
  }

  @Test("an adapter that never says that it looks no more isn't waited for once it is time to stop")
  func mute() async throws {
    let kernel = try TestKernel(saysWhenDone: false)
    let scanning = scan(at: kernel)
    await kernel.wait(for: 0x23)
    stop.raise()
    try await scanning.value
    #expect(kernel.commands == [0x23, 0x24])
  }

  @Test("others who look for devices are waited for, and what they hear counts")
  func busy() async throws {
    let kernel = try TestKernel(refusing: [0x23: 0x0A])
    let count = Counter()
    let scanning = scan(at: kernel) { _ in count.add() }
    await kernel.wait(for: 0x23, times: 2)
    kernel.send(try hexadecimal(Self.found))
    await count.reaches(1)
    stop.raise()
    try await scanning.value
    #expect(count.value == 1)
    #expect(!kernel.commands.contains(0x24))
  }

  @Test(
    "why it can't be is said in words",
    arguments: [
      (0x14, BLEError.notPermitted), (0x0F, .off(["hci1"])), (0x11, .gone), (0x12, .off(["hci1"])),
    ] as [(UInt8, BLEError)])
  func refused(status: UInt8, error: BLEError) async throws {
    let kernel = try TestKernel(refusing: [0x23: status])
    await #expect(throws: error) { try await scan(at: kernel).value }
  }

  @Test("an adapter that goes, or is switched off, ends an advertisement", arguments: [true, false])
  func unplugged(isGone: Bool) async throws {
    let kernel = try TestKernel()
    let advertising = advertise(at: kernel)
    await kernel.wait(for: 0x3E)
    kernel.send(try hexadecimal(isGone ? "050001000000" : "060001000400000a0000"))
    await #expect(throws: isGone ? BLEError.gone : .off(["hci1"])) { try await advertising.value }
  }
}

private struct Unexpected: Error {
  let content: ManagementEvent.Content
  init(_ content: ManagementEvent.Content) { self.content = content }
}

/// The kernel's end of a management socket: it carries everything out, or refuses what it is told to.
private final class TestKernel: Sendable {
  /// The other end: whoever takes it closes it.
  let client: Int32
  private let socket: Int32
  private let seen = Watched<[UInt16]>([])

  init(refusing: [UInt16: UInt8] = [:], saysWhenDone: Bool = true) throws {
    var ends: [Int32] = [-1, -1]
    let kind = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    try #require(socketpair(AF_UNIX, kind, 0, &ends) == 0)
    (client, socket) = (ends[0], ends[1])
    let socket = socket
    Thread.detachNewThread { [self] in
      var buffer = [UInt8](repeating: 0, count: 1000)
      while true {
        let got = recv(socket, &buffer, buffer.count, 0)
        guard got >= 6 else { return }
        let code = UInt16(buffer[0]) | UInt16(buffer[1]) << 8
        let status = refusing[code] ?? 0
        var result: [UInt8] = []
        if code == 0x3D { result = [0x7F, 0xF0, 1, 0, 31, 31, 5, 0] }
        if code == 0x3E { result = [buffer[6]] }
        let index = [buffer[2], buffer[3]]
        let body = [buffer[0], buffer[1], status] + (status == 0 ? result : [])
        defer { if code == 0x24, status == 0, saysWhenDone { send([0x13, 0] + index + [2, 0, 6, 0]) } }
        // Whoever has the answer sees that it was asked for.
        seen.change { $0.append(code) }
        send([status == 0 ? 1 : 2, 0, buffer[2], buffer[3], UInt8(body.count), 0] + body)
      }
    }
  }

  /// Numbers of the commands so far.
  var commands: [UInt16] { seen.value }

  func send(_ bytes: [UInt8]) { _ = vault_send_packet(socket, bytes, bytes.count) }

  func wait(for code: UInt16, times: Int = 1) async {
    await seen.until { $0.count { $0 == code } >= times }
  }
}
