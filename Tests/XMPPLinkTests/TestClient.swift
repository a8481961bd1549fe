import ChatServers
import Foundation
import Synchronization
import TestTime
import Testing

@testable import XMPPLink
@testable import XMPPRequests

/// An account of a test that is logged in, and what has come to it.
actor TestClient {
  struct TimedOut: Error, CustomStringConvertible {
    let description: String
  }

  nonisolated let account: XMPPAccount
  nonisolated let name: String
  nonisolated let connection: XMPPConnection
  nonisolated var address: JID { account.address }
  /// The thread behind the connection.
  nonisolated var loop: Loop { get throws { try #require(connection.carrier as? Loop) } }
  private(set) var events: [XMPPEvent] = []
  private(set) var hasEnded = false
  private let happenings = Happenings()

  init(_ account: XMPPAccount, name: String, isPresent: Bool = true) async throws {
    self.account = account
    self.name = name
    connection = try await within(.seconds(60)) {
      try await XMPPConnection.connect(account, password: password(name), resource: "test")
    }
    let stream = connection.events
    Task { [weak self] in
      for await event in stream { await self?.took(event) }
      await self?.ended()
    }
    guard isPresent else { return }
    try await connection.announce()
    // The server has taken it when it answers to what was sent behind it.
    try await connection.ping()
  }

  private func took(_ event: XMPPEvent) {
    events.append(event)
    happenings.note()
  }

  private func ended() {
    hasEnded = true
    happenings.note()
  }

  /// Looks whenever something has come, until there is what it looks for; fails when that has taken too long.
  private func look<Found>(
    _ seconds: Double, _ what: () -> String, for find: () throws -> Found?
  ) async throws -> Found {
    let isLate = Mutex(false)
    let deadline = Task { [happenings] in
      try await Task.sleep(for: .seconds(seconds))
      isLate.withLock { $0 = true }
      happenings.note()
    }
    defer { deadline.cancel() }
    while true {
      let count = happenings.count
      if let found = try find() { return found }
      guard !isLate.withLock({ $0 }) else { throw TimedOut(description: what()) }
      try await happenings.wait(beyond: count)
    }
  }

  /// A new connection of the same account.
  func again(isPresent: Bool = true) async throws -> TestClient {
    try await TestClient(account, name: name, isPresent: isPresent)
  }

  /// Waits for what `find` finds.
  func wait<Found>(
    _ what: String = "an event", seconds: Double = 60, for find: (XMPPEvent) -> Found?
  ) async throws -> Found {
    let words = { "\(what); there came \(self.events.count): \(self.events.map { String("\($0)".prefix(200)) })" }
    return try await look(seconds, words) {
      for event in events { if let found = find(event) { return found } }
      guard !hasEnded else { throw TimedOut(description: words()) }
      return nil
    }
  }

  /// Waits until the last one of what `find` finds is as wanted.
  func latest<Found>(
    _ what: String, for find: (XMPPEvent) -> Found?, until isWanted: (Found) -> Bool
  ) async throws -> Found {
    try await look(60, { what }) { events.compactMap(find).last.flatMap { isWanted($0) ? $0 : nil } }
  }

  func message(_ body: String) async throws -> XMPPMessage {
    try await wait("message \(body)") {
      if case .message(let message) = $0, message.body == body { message } else { nil }
    }
  }

  func receipt(_ id: String) async throws -> JID {
    try await wait("receipt \(id)") { if case .receipt(id, let from) = $0 { from } else { nil } }
  }

  /// A parcel of which all parts have come.
  func parcel(_ id: String, seconds: Double = 60) async throws -> [UInt8] {
    try await look(seconds, { "parcel \(id), \(self.events.count) events" }) { parcels[id] }
  }

  private var parcels: [String: [UInt8]] {
    var collector = XMPPParcelCollector()
    var parcels: [String: [UInt8]] = [:]
    for case .parcel(let part) in events {
      if let parcel = collector.add(part) { parcels[parcel.id] = parcel.bytes }
    }
    return parcels
  }

  func end() async throws -> XMPPError? {
    try await wait("the end") { event -> XMPPError?? in if case .closed(let error) = event { .some(error) } else { nil }
    }
  }

  func ignored() -> [String] { events.compactMap { if case .ignored(let reason) = $0 { reason } else { nil } } }
}

/// Runs `body`, cancelled after a time.
func within<Value: Sendable>(
  _ time: Duration, _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  try await withThrowingTaskGroup(of: Value.self) { group in
    group.addTask { try await body() }
    group.addTask {
      try await Task.sleep(for: time)
      throw TestClient.TimedOut(description: "\(time)")
    }
    defer { group.cancelAll() }
    guard let value = try await group.next() else { throw CancellationError() }
    return value
  }
}
