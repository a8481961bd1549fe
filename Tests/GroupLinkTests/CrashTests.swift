import Foundation
import Glibc
import Grouper
import Sodium
import Testing

/// A device that is killed at any change of its disk, or whose disk is full, while it sends and receives.
///
/// With `VAULT_SOAK=1` at every change, otherwise at some.
@Suite(.serialized, .timeLimit(.minutes(20))) struct CrashTests {
  /// An owner in this process, and a device with a folder of its own, in one group.
  private final class Pair {
    let servers: [ServerProcess]
    let group: RealGroup
    let folder = FileManager.default.temporaryDirectory.appending(path: "group-device-\(UUID())").path
    private(set) var kept: Set<String> = []
    private(set) var sent: Set<String> = []
    /// How often the owner's application was handed each of the device's objects.
    private(set) var handed: [String: Int] = [:]
    private var number = 0

    init() async throws {
      // A device's write to one that has ended is no reason for this process to end.
      signal(SIGPIPE, SIG_IGN)
      servers = try (0..<3).map { _ in try ServerProcess() }
      group = try await RealGroup(1, on: servers.map(\.address), threshold: 2, sufficient: 3)
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let device = try DeviceProcess(folder: folder)
      let request = try #require(device.ask("request")?.dropFirst("request ".count))
      let digits = Array(request.utf8)
      let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
        UInt8(String(decoding: digits[$0..<($0 + 2)], as: UTF8.self), radix: 16)
      }
      let invitation = try await group.members[0].grouper.invite(JoinRequest(bytes))
      #expect(device.ask("accept " + hexadecimal(invitation.bytes)) == "accepted")
      #expect(device.ask("sync") == "synced")
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// Both write, send and receive, until it is done or the device has ended.
    func work(_ device: DeviceProcess) async throws {
      for _ in 0..<2 {
        for _ in 0..<2 {
          number += 1
          let id = "device-\(number)"
          guard let answer = device.ask("write \(id)") else { return }
          if answer == "kept \(id)" { kept.insert(id) }
        }
        number += 1
        try await group.members[0].write("owner-\(number)", "by the owner")
        sent.insert("owner-\(number)")
        try await syncOwner()
        guard device.ask("sync") != nil else { return }
      }
    }

    func syncOwner() async throws {
      let report = try await group.members[0].grouper.sync()
      for change in report.changes { handed[change.name.objectID, default: 0] += 1 }
      group.members[0].log.advance(seconds: 6)
    }

    /// Nothing that was acknowledged is lost, on either side, and nothing came twice.
    func check(_ what: String) async throws {
      let device = try DeviceProcess(folder: folder)
      for _ in 0..<2 {
        #expect(device.ask("sync") == "synced", "\(what)")
        try await syncOwner()
      }
      #expect(device.ask("sync") == "synced", "\(what)")
      let list = try #require(device.ask("list"))
      let found = Set(list.dropFirst("objects ".count).split(separator: ",").map(String.init))
      #expect(found.isSuperset(of: kept.union(sent)), "\(what)")
      let texts = try group.members[0].texts()
      #expect(Set(texts.keys) == found, "\(what)")
      #expect(handed.values.allSatisfy { $0 == 1 }, "\(what): \(handed.filter { $0.value != 1 })")
      #expect(!group.members[0].log.events.contains { if case .refusedMessage = $0 { true } else { false } }, "\(what)")
    }
  }

  /// How many changes of the disk a device makes while it works, and of these some or all.
  private func steps(_ pair: Pair, _ count: Int) async throws -> [Int] {
    let log = pair.folder + ".log"
    defer { unlink(log) }
    try await pair.work(DeviceProcess(folder: pair.folder, .counted(log: log)))
    try await pair.check("undisturbed")
    let all = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").count
    try #require(all > 50)
    if ProcessInfo.processInfo.environment["VAULT_SOAK"] == "1" { return Array(1...all) }
    // Evenly, but never quite at the same places.
    return (0..<count).map { 1 + $0 * all / count + Int.random(in: 0..<(all / count)) }
  }

  @Test func `a device killed at any write loses nothing acknowledged and gets nothing twice`() async throws {
    let pair = try await Pair()
    for step in try await steps(pair, 6) {
      try await pair.work(DeviceProcess(folder: pair.folder, .killed(at: step)))
      try await pair.check("killed at \(step)")
    }
    #expect(pair.kept.count > 6)
  }

  @Test func `a device whose disk fills up loses nothing acknowledged`() async throws {
    let pair = try await Pair()
    for step in try await steps(pair, 3) {
      do {
        let device = try DeviceProcess(folder: pair.folder, .full(at: step))
        try await pair.work(device)
      }
      try await pair.check("full at \(step)")
    }
    #expect(pair.kept.count > 4)
  }
}
