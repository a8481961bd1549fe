import Foundation
import GroupLink
import HTTPLink
import Grouper

/// An object of the papers' application *Test*: as JSON, as many bytes as are wanted.
struct Record: GroupObject {
  var objectID: String
  var text: String

  init(_ id: String, byteCount: Int) throws {
    objectID = id
    text = ""
    let bare = try JSONEncoder().encode(self).count
    text = String(repeating: "x", count: max(byteCount - bare, 0))
  }
}

/// Devices of one group on running servers, each with a database and connections of its own, in one process.
final class MeasuredGroup {
  /// Where the time of a part of the work went, in seconds.
  struct Parts: Encodable {
    /// Marshalling, numbering, signing, and the database.
    var synchronization = 0.0
    /// Sharing and dispersal, and putting together.
    var sharing = 0.0
    /// Waiting for servers.
    var network = 0.0
  }

  struct Device {
    let grouper: Grouper
    let objects: CodableStore
    let traffic: Traffic
  }

  private let folder: String
  private let addresses: [String]
  private(set) var devices: [Device] = []
  private var written = 0

  init(
    _ count: Int, on addresses: [String], threshold: Int, sufficient: Int, folder: String
  ) async throws {
    self.folder = folder
    self.addresses = addresses
    let owner = try await device(0)
    try await owner.grouper.createGroup(
      name: "Test", servers: addresses.map { ServerChoice(address: $0) }, threshold: threshold,
      sufficient: sufficient, ttl: 86_400, email: "owner@example.org", userName: "owner")
    devices = [owner]
    for number in 1..<count {
      let member = try await device(number)
      let request = try await member.grouper.joinRequest(email: "m\(number)@example.org", name: "member \(number)")
      try await member.grouper.accept(owner.grouper.invite(request))
      devices.append(member)
    }
  }

  /// Some devices say that they are there and hear who else is: that isn't measured.
  func settle(_ count: Int) async throws {
    for _ in 0..<2 { for device in devices[..<count] { _ = try await device.grouper.sync() } }
  }

  private func device(_ number: Int) async throws -> Device {
    let base = "\(folder)/\(UUID().uuidString)-\(number)"
    let store = try GroupStore(path: base + ".db", sealer: KeyFileSealer(path: base + ".key"))
    let traffic = Traffic()
    let connector = CountingConnector(servers: GroupServerConnections(try HTTPConnections()), traffic: traffic)
    let (grouper, objects) = try await Grouper.setup(
      applicationID: "Test", entities: [Record.self], store: store, connector: connector)
    return Device(grouper: grouper, objects: objects, traffic: traffic)
  }

  /// A device changes so many objects and puts the messages on the servers.
  func send(_ count: Int, byteCount: Int, from place: Int = 0) async throws -> Parts {
    let device = devices[place]
    let watch = GroupStopwatch()
    let start = Stopwatch.now()
    var changed = 0.0
    try await GroupStopwatch.$current.withValue(watch) {
      for _ in 0..<count {
        written += 1
        try await device.grouper.sender.update(Record("r\(written)", byteCount: byteCount))
      }
      changed = Stopwatch.now() - start
      watch.reset()
      try await device.grouper.upload()
    }
    var parts = split(Stopwatch.now() - start - changed, watch)
    // Nothing there waits for a network.
    parts.synchronization += changed
    return parts
  }

  /// Another takes them, and hands them to its application.
  func receive(_ count: Int, at place: Int = 1) async throws -> Parts {
    let watch = GroupStopwatch()
    let start = Stopwatch.now()
    let report = try await GroupStopwatch.$current.withValue(watch) { [grouper = devices[place].grouper] in
      try await grouper.receiver.receive()
    }
    let parts = split(Stopwatch.now() - start, watch)
    guard report.success, report.changes.count == count, report.missing == 0 else {
      throw SimulatedGroup.Fault(description: "\(report.changes.count) of \(count) came, \(report.missing) are missing")
    }
    return parts
  }

  /// The engine is one actor: while it isn't in its database or with shares, it waits for servers.
  private func split(_ whole: Double, _ watch: GroupStopwatch) -> Parts {
    let (store, sharing) = (watch.seconds(.store), watch.seconds(.sharing))
    return Parts(synchronization: store - sharing, sharing: sharing, network: max(whole - store, 0))
  }
}
