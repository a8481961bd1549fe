import Foundation
import Grouper
import HTTPLink
import Synchronization

@testable import GroupLink

/// An object of the tests.
struct Entry: GroupObject, Hashable {
  var objectID: String
  var text: String
}

/// Members of a group on this machine, each with a database, connections and a clock of his own, as on devices of their own.
final class RealGroup {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "real-group-\(UUID())")
  private(set) var members: [GroupMember] = []
  /// How long members wait for a server at which nothing moves; nil as long as usual.
  private let patience: Duration?

  /// A group of `count` members on these servers.
  init(
    _ count: Int, on addresses: [String], threshold: Int, sufficient: Int, ttl: Int = 3600, patience: Duration? = nil
  ) async throws {
    self.patience = patience
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let owner = try await device("owner")
    try await owner.grouper.createGroup(
      name: "Figures", servers: addresses.map { ServerChoice(address: $0) }, threshold: threshold,
      sufficient: sufficient, ttl: ttl, email: "owner@example.org", userName: "owner")
    members = [owner]
    for number in 1..<count { try await add("member \(number)") }
    try await settle()
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// One more member.
  @discardableResult func add(_ name: String) async throws -> GroupMember {
    let member = try await device(name)
    let request = try await member.grouper.joinRequest(email: "", name: name)
    try await member.grouper.accept(members[0].grouper.invite(request))
    members.append(member)
    return member
  }

  private func device(_ name: String) async throws -> GroupMember {
    let base = folder.appending(path: name.replacing(" ", with: "-")).path
    let log = GroupMember.Log()
    let environment = GrouperEnvironment(
      now: { UInt64(Int64(Date().timeIntervalSince1970 * 1000) + log.secondsAhead * 1000) },
      sleep: { try await Task.sleep(for: .milliseconds(Int64($0))) }, jitter: { 0.5 }, tell: { log.add($0) })
    let store = try GroupStore(path: base + ".db", sealer: KeyFileSealer(path: base + ".key"))
    var connector = GroupServerConnections(try HTTPConnections())
    if let patience { connector.patience = patience }
    let (grouper, objects) = try await Grouper.setup(
      applicationID: "figures", entities: [Entry.self], store: store, connector: connector, environment: environment)
    return GroupMember(name: name, grouper: grouper, objects: objects, log: log)
  }

  /// Everybody looks at all servers, some times over: enough for questions and answers. Clocks of members go on in between, so that
  /// nothing is too early for anything.
  func settle(rounds: Int = 2, _ chosen: [GroupMember]? = nil) async throws {
    for _ in 0..<rounds {
      for member in chosen ?? members {
        _ = try await member.grouper.sync()
        member.log.advance(seconds: 5)
      }
    }
  }
}

/// A member's device.
struct GroupMember {
  /// A member's clock, and what he was told.
  final class Log: Sendable {
    private struct Content {
      var secondsAhead: Int64 = 0
      var events: [GrouperEvent] = []
    }

    private let content = Mutex(Content())

    var secondsAhead: Int64 { content.withLock { $0.secondsAhead } }
    func advance(seconds: Int64) { content.withLock { $0.secondsAhead += seconds } }
    func add(_ event: GrouperEvent) { content.withLock { $0.events.append(event) } }
    var events: [GrouperEvent] { content.withLock { $0.events } }

    /// Servers that have given false shares.
    var damaging: Set<String> {
      Set(events.compactMap { if case .damagedShare(let address, _) = $0 { address } else { nil } })
    }

    /// Servers that have failed in this way.
    func failing(_ holds: (GroupServerError) -> Bool) -> Set<String> {
      Set(
        events.compactMap {
          if case .serverFailed(let address, let error) = $0, holds(error) { address } else { nil }
        })
    }
  }

  let name: String
  let grouper: Grouper
  let objects: CodableStore
  let log: Log

  func write(_ id: String, _ text: String) async throws {
    try await grouper.sender.update(Entry(objectID: id, text: text))
  }

  func texts() throws -> [String: String] {
    Dictionary(uniqueKeysWithValues: try objects.objects(Entry.self).map { ($0.objectID, $0.text) })
  }
}
