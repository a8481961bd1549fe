import ChatServers
import Foundation
import Synchronization
import TestTime
import Testing

@testable import XMPPLink
@testable import XMPPRequests

/// What a caller does above a connection: sends again until there is a receipt, and over as many connections as it
/// takes.
private actor Sender {
  private let account: XMPPAccount
  private let name: String
  private let to: JID
  private let happenings: Happenings
  private var outbox: [String: [UInt8]]
  private(set) var connections = 0
  private(set) var sent = 0

  init(_ client: TestClient, to: JID, outbox: [String: [UInt8]], _ happenings: Happenings) {
    self.happenings = happenings
    account = client.account
    name = client.name
    self.to = to
    self.outbox = outbox
  }

  var remaining: Int { outbox.count }

  func add(_ parcels: [String: [UInt8]]) { outbox.merge(parcels) { $1 } }

  /// Until nothing is left, or the task is cancelled.
  func run() async {
    while !Task.isCancelled {
      do {
        let (account, name) = (account, name)
        let connection = try await within(.seconds(10)) {
          try await XMPPConnection.connect(account, password: password(name), resource: "sender")
        }
        connections += 1
        let receipts = Task {
          for await event in connection.events { if case .receipt(let id, _) = event { self.received(id) } }
        }
        defer { receipts.cancel() }
        try await connection.announce()
        while !Task.isCancelled {
          for id in outbox.keys.sorted() {
            guard let bytes = outbox[id] else { continue }
            try await connection.send(parcel: bytes, to: to, id: id)
            sent += 1
          }
          try await Task.sleep(for: .milliseconds(outbox.isEmpty ? 5 : 300))
          try await within(.seconds(5)) { try await connection.ping() }
        }
        connection.logout()
      } catch {
        try? await Task.sleep(for: .milliseconds(50))
      }
    }
  }

  private func received(_ id: String) {
    outbox[id] = nil
    happenings.note()
  }
}

/// Takes parcels, keeps each once, and acknowledges what it has kept; what it has kept outlives its connections.
private actor Receiver {
  private let account: XMPPAccount
  private let name: String
  private let happenings: Happenings
  private(set) var kept: [String: [UInt8]] = [:]
  private(set) var repeated = 0
  private var connection: XMPPConnection?

  init(_ client: TestClient, _ happenings: Happenings) {
    self.happenings = happenings
    account = client.account
    name = client.name
  }

  func run() async {
    while !Task.isCancelled {
      do {
        let (account, name) = (account, name)
        let connection = try await within(.seconds(10)) {
          try await XMPPConnection.connect(account, password: password(name), resource: "receiver")
        }
        self.connection = connection
        try await connection.announce()
        var collector = XMPPParcelCollector()
        for await event in connection.events {
          guard case .parcel(let part) = event, let parcel = collector.add(part) else { continue }
          if kept[parcel.id] == nil { kept[parcel.id] = parcel.bytes } else { repeated += 1 }
          happenings.note()
          try await connection.acknowledge(parcel.id, to: parcel.from)
        }
      } catch {
        try? await Task.sleep(for: .milliseconds(50))
      }
    }
    connection?.close()
  }

  /// As if its process were killed: without a word to the server.
  func breakOff() { connection?.close() }
}

extension ServerTests {
  @Suite(.enabled(if: ChatServer.isAvailable, chatServerReason), .serialized, .timeLimit(.minutes(10)))
  struct LossTests {
    private func parcels(_ numbers: Range<Int>) -> [String: [UInt8]] {
      Dictionary(
        uniqueKeysWithValues: numbers.map { number in
          // Some of them in several parts.
          let size = number.isMultiple(of: 10) ? 400_000 : 100 * number
          return ("parcel-\(number)", [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size))
        })
    }

    /// Looks whenever something has come whether it is so.
    private static func until(
      _ happenings: Happenings, within time: Duration, _ isSo: @escaping @Sendable () async -> Bool
    ) async throws {
      try await within(time) {
        while true {
          let count = happenings.count
          if await isSo() { return }
          try await happenings.wait(beyond: count)
        }
      }
    }

    /// Runs until all is there, while `disturb` does its worst.
    private func expectAll(
      _ kind: ChatServer.Kind, kills: Bool = false,
      _ disturb: @Sendable @escaping (Int, ChatServer, () async -> Void) async throws -> Void
    ) async throws {
      let server = try ChatServer.shared(kind)
      let ada = try await server.newConnection("ada")
      let bob = try await server.newConnection("bob")
      for client in [ada, bob] {
        client.connection.logout()
        _ = try await client.end()
      }
      if kills { for client in [ada, bob] { try await server.hasKept(client.name) } }
      let happenings = Happenings()
      let sender = Sender(ada, to: bob.address, outbox: parcels(0..<10), happenings)
      let receiver = Receiver(bob, happenings)
      let tasks = [Task { await sender.run() }, Task { await receiver.run() }]
      defer { for task in tasks { task.cancel() } }
      for round in 1..<5 {
        // Amid what is on its way, when some of it has come, another number of them each time.
        await sender.add(parcels(round * 10..<(round + 1) * 10))
        let count = await receiver.kept.count
        try await Self.until(happenings, within: .seconds(180)) {
          let kept = await receiver.kept.count
          let remaining = await sender.remaining
          return kept >= count + round || remaining == 0
        }
        try await disturb(round, server) { await receiver.breakOff() }
      }
      try await Self.until(happenings, within: .seconds(180)) { await sender.remaining == 0 }
      #expect(await receiver.kept == parcels(0..<50))
      print(
        "\(kind): \(await sender.connections) connections, \(await sender.sent) sent, \(await receiver.repeated) repeated"
      )
      await receiver.breakOff()
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `nothing is lost when the receiver is killed and comes back at once`(_ kind: ChatServer.Kind) async throws {
      try await expectAll(kind) { _, _, breakOff in await breakOff() }
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `nothing is lost when the server is killed and starts again`(_ kind: ChatServer.Kind) async throws {
      try await expectAll(kind, kills: true) { round, server, _ in
        guard round.isMultiple(of: 2) else { return }
        server.kill()
        try server.start()
      }
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `a killed server is noticed by who waits and by who listens`(_ kind: ChatServer.Kind) async throws {
      let server = try ChatServer.shared(kind)
      let ada = try await server.newConnection("ada")
      server.kill()
      let error = try await ada.end()
      guard case .unreachable? = error else {
        Issue.record("\(String(describing: error))")
        return try server.start()
      }
      await #expect(throws: XMPPError.self) { try await ada.connection.ping() }
      try server.start()
      // Whether the server has kept the account of just now is its own matter.
      try await server.newConnection("ada").connection.ping()
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `what a server has put aside is fetched while the account is there, and stays where it is`(
      _ kind: ChatServer.Kind
    ) async throws {
      let server = try ChatServer.shared(kind)
      let (ada, bob) = (try await server.newConnection("ada"), try await server.newConnection("bob"))
      #expect(try await bob.connection.askForPutAside() == [])
      // To somebody who isn't to be disturbed nothing is given; so a server does, too, when somebody comes just then.
      try await bob.connection.announce(priority: -1)
      try await bob.connection.ping()
      for number in 0..<20 { try await ada.connection.send(parcel: [7], to: bob.address.bare, id: "aside-\(number)") }
      try await ada.connection.ping()
      // Prosody handles one stanza after the other, and nothing comes between.
      guard kind == .ejabberd else { return #expect(try await bob.connection.askForPutAside() == []) }
      let names = try await bob.connection.askForPutAside()
      #expect(names.count == 20)
      #expect(try await bob.connection.askForPutAside(except: Set(names)) == [])
      for number in 0..<20 { #expect(try await bob.parcel("aside-\(number)") == [7]) }
      try await bob.connection.announce(.unavailable)
      let later = try await bob.again()
      for number in 0..<20 { #expect(try await later.parcel("aside-\(number)") == [7]) }
    }
  }
}
