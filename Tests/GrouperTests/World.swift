import Foundation
import Sodium
import Synchronization
import TestTime
import Testing

@testable import Grouper

/// An object of the tests.
struct Note: GroupObject, Hashable {
  var objectID: String
  var text: String
  var attachments: [FileReference] = []
  var files: [FileReference] { attachments }
}

/// Another one, which names notes.
struct Mark: GroupObject, Hashable {
  var objectID: String
  var note: String
}

/// Servers and members in one process, on virtual time.
final class World: Sendable {
  let clock = TestClock()
  let servers: [MemoryServer]
  let folder: String
  let events = Mutex<[GrouperEvent]>([])
  /// Whether members' disks have room for what others send.
  let hasRoom = Mutex(true)
  private let extra = Mutex<[String: MemoryServer]>([:])

  init(servers count: Int = 3) throws {
    let clock = clock
    servers = (0..<count).map { _ in MemoryServer(clock) }
    folder = FileManager.default.temporaryDirectory.path + "/grouper-" + hexadecimal(try Randomness.bytes(8))
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  struct Connector: GroupServerConnector {
    let world: World
    func server(at address: String) throws(GroupServerError) -> any GroupServer {
      if let added = world.extra.withLock({ $0[address] }) { return added }
      guard let number = Int(address.dropFirst("memory:".count)), world.servers.indices.contains(number) else {
        throw .unreachable(reason: "no such server")
      }
      return world.servers[number]
    }
  }

  /// A server that was not there from the beginning.
  func addServer(_ address: String) -> MemoryServer {
    let server = MemoryServer(clock)
    extra.withLock { $0[address] = server }
    return server
  }

  var choices: [ServerChoice] { servers.indices.map { ServerChoice(address: "memory:\($0)") } }

  /// One member's device: opened, closed and opened again.
  func device(
    _ name: String, policy: ConflictPolicy = .newestWins, clockOffset: Int64 = 0
  ) async throws -> Device {
    let clock = clock
    var environment = GrouperEnvironment(
      now: { UInt64(clock.now + clockOffset * 1000) },
      sleep: { try await clock.sleep(for: .milliseconds(Int64(clamping: $0))) }, jitter: { 0.5 },
      tell: { [weak self] event in self?.events.withLock { $0.append(event) } })
    environment.hasRoom = { [weak self] in self?.hasRoom.withLock { $0 } ?? true }
    let sealer = try KeyFileSealer(path: folder + "/\(name).key")
    let store = try GroupStore(path: folder + "/\(name).db", sealer: sealer)
    let (grouper, objects) = try await Grouper.setup(
      applicationID: "test", entities: [Note.self, Mark.self], store: store, connector: Connector(world: self),
      environment: environment, policy: policy)
    return Device(name: name, grouper: grouper, objects: objects)
  }

  /// A group of `count` devices; all have confirmed nothing yet.
  func group(
    _ count: Int, threshold: Int = 2, sufficient: Int? = nil, ttl: Int = 3600, policy: ConflictPolicy = .newestWins
  ) async throws -> [Device] {
    let owner = try await device("owner", policy: policy)
    try await owner.grouper.createGroup(
      name: "Family", servers: choices, threshold: threshold, sufficient: sufficient ?? threshold, ttl: ttl,
      email: "owner@example.org", userName: "owner")
    var devices = [owner]
    for number in 1..<max(count, 1) {
      let member = try await device("member\(number)", policy: policy)
      try await join(member, owner)
      devices.append(member)
    }
    return devices
  }

  func join(_ member: Device, _ owner: Device) async throws {
    let request = try await member.grouper.joinRequest(email: "\(member.name)@example.org", name: member.name)
    let invitation = try await owner.grouper.invite(JoinRequest(request.bytes))
    try await member.grouper.accept(Invitation(invitation.bytes))
  }

  /// Everybody syncs, some times over: enough for questions and answers.
  func settle(_ devices: [Device], rounds: Int = 4) async throws {
    for _ in 0..<rounds {
      for device in devices { _ = try await device.grouper.sync() }
      clock.advance(seconds: 40)
    }
  }

  var damaged: Set<String> {
    Set(
      events.withLock { $0 }.compactMap {
        if case .damagedShare(let address, _) = $0 { address } else { nil }
      })
  }

  var refused: [GrouperEvent] {
    events.withLock { $0 }.filter {
      switch $0 {
      case .refusedMessage, .storeFailed, .pluginFailed: true
      default: false
      }
    }
  }
}

struct Device: Sendable {
  let name: String
  let grouper: Grouper
  let objects: CodableStore

  func write(_ id: String, _ text: String) async throws {
    try await grouper.sender.update(Note(objectID: id, text: text))
  }

  func text(_ id: String) throws -> String? { try objects.object(Note.self, id)?.text }

  func texts() throws -> [String: String] {
    Dictionary(uniqueKeysWithValues: try objects.objects(Note.self).map { ($0.objectID, $0.text) })
  }
}

extension World {
  /// Copies a database as it lies, with its journal.
  func copy(_ name: String, to other: String) throws {
    let manager = FileManager.default
    for suffix in ["", "-wal", "-shm"] {
      let (from, to) = (folder + "/" + name + suffix, folder + "/" + other + suffix)
      try? manager.removeItem(atPath: to)
      if manager.fileExists(atPath: from) { try manager.copyItem(atPath: from, toPath: to) }
    }
  }
}
