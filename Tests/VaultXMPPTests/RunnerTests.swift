import ChatServers
import Sodium
import Testing
import VaultProtocol
import VaultStore
import XMPPRequests

@testable import SecretVault
@testable import VaultXMPP

extension AccountTests {
  @Suite(.enabled(if: ChatServer.isAvailable, reason), .serialized, .timeLimit(.minutes(10)))
  struct RunnerTests {
    private func connection(_ person: Person) throws -> AccountConnection.State? {
      try person.accounts.list().first { $0.state == .current }?.connection?.state
    }

    @Test func `it is noted whether the account is connected, and a command's change is followed within seconds`()
      async throws
    {
      let ada = try Person("Ada")
      let (prosody, ejabberd) = (try ChatServer.shared(.prosody), try ChatServer.shared(.ejabberd))
      let other = "other-" + ada.address
      _ = try await ada.accounts.register(other, at: .init(ejabberd), password: secret("other"))
      try await ada.register(at: prosody)
      let lock = try ada.takeDaemonLock()
      try await ada.online {
        try await eventually("it is connected") { try connection(ada) == .connected }
        _ = try ada.accounts.use(other)
        try await eventually("the other one is connected", seconds: 30) { try connection(ada) == .connected }
        _ = try ada.accounts.logout(nil, forgets: false)
        try await eventually("none is", seconds: 30) { try ada.vault.accounts.accountConnection() == nil }
      }
      withExtendedLifetime(lock) {}
    }

    @Test func `a password that is wrong now is noted, and tried again when it is another one`() async throws {
      let server = try ChatServer.shared(.prosody)
      let ada = try Person("Ada")
      try await ada.register(at: server)
      let account = try #require(try ada.vault.accounts.currentAccount())
      // Changed elsewhere.
      try await ada.accounts.connected(account) { (connection) throws(XMPPError) in
        let password: HeldSecret
        do { password = try held("changed elsewhere") } catch { throw .noResources }
        try await connection.changePassword(to: password.bytes)
      }
      let lock = try ada.takeDaemonLock()
      try await ada.online {
        try await eventually("it is refused") { try connection(ada) == .wrongPassword }
        _ = try await ada.accounts.login(ada.address, at: .init(server), password: held("changed elsewhere"))
        try await eventually("it is connected", seconds: 30) { try connection(ada) == .connected }
      }
      withExtendedLifetime(lock) {}
    }

    @Test func `attempts in vain come further and further apart`() {
      let pauses = (1...12).map { AccountRunner.pause(after: $0, .unreachable("")) }
      #expect(pauses.first == 1 && pauses[3] == 8 && pauses.last == 300)
      #expect(pauses == pauses.sorted())
      #expect(AccountRunner.pause(after: 1, .wrongPassword) == 300)
    }

    @Test func `another network is noticed`() throws {
      let path = try temporaryFile("one route")
      let before = NetworkMark.now(of: [path])
      #expect(NetworkMark.now(of: [path]) == before)
      try write("another route", to: path)
      #expect(NetworkMark.now(of: [path]) != before)
    }

    private func temporaryFile(_ text: String) throws -> String {
      let path = try ChatServer.run("/usr/bin/mktemp", []).split(separator: "\n").first.map(String.init)
      let found = try #require(path)
      try write(text, to: found)
      return found
    }

    private func write(_ text: String, to path: String) throws {
      try ChatServer.run("/bin/sh", ["-c", "printf '%s' '\(text)' >'\(path)'"])
    }
  }

  @Suite(.enabled(if: ChatServer.isAvailable, reason), .serialized, .timeLimit(.minutes(10)))
  struct LossTests {
    /// Bob takes what comes, while `disturb` does its worst; then all is there once, and ada knows it.
    private func expectAll(
      _ kind: ChatServer.Kind, kills: Bool = false,
      _ disturb: (Int, ChatServer, Person, _ haveLeft: () throws -> Int) async throws -> Void
    ) async throws {
      let server = try ChatServer.shared(kind)
      let (ada, bob) = (try Person("Ada"), try Person("Bob"))
      try ada.meet(bob)
      for person in [ada, bob] { try await person.register(at: server) }
      try ada.vault.accounts.setAccountAddress("Bob", to: bob.address)
      if kills { for person in [ada, bob] { try await server.hasKept(person.local) } }
      var messages: [MessageSummary] = []
      try await ada.online {
        for round in 0..<3 {
          for number in 0..<5 {
            // Some of them in several stanzas.
            let text = "\(round).\(number) " + String(repeating: "x", count: number == 4 ? 60_000 : 10)
            messages.append(try ada.send(text, to: bob))
          }
          let fresh = messages.suffix(5)
          try await disturb(round, server, bob) { try fresh.count { try ada.state($0) != "waiting" } }
        }
        // What was lost with a server is sent again after ten minutes; here the clock doesn't wait for that.
        try await bob.online {
          try await eventually("all is confirmed", seconds: 180) {
            for message in messages where try ada.state(message) != "delivered" { try ada.sendAgain(message) }
            return try messages.allSatisfy { try ada.state($0) == "delivered" }
          }
        }
      }
      let expected = try messages.map { try #require(try ada.text($0)) }
      #expect(try bob.received(from: "Ada").sorted() == expected.sorted())
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `nothing is lost, and nothing comes twice, when the receiver is cut off again and again`(
      _ kind: ChatServer.Kind
    ) async throws {
      try await expectAll(kind) { _, _, bob, _ in
        let account = try #require(try bob.vault.accounts.currentAccount())
        let password = try #require(try bob.vault.accounts.accountPassword(account.id))
        let exchange = try await AccountExchange.open(
          AccountRooms(bob.vault), account, password: password, resource: account.resource, answers: false)
        let task = Task { await exchange.run() }
        try await eventually("the first come") { exchange.report.parcelsTaken > 0 }
        // Without a word to the server.
        exchange.connection.close()
        #expect(await task.value == nil)
      }
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `nothing is lost, and nothing comes twice, when the server is killed and starts again`(
      _ kind: ChatServer.Kind
    ) async throws {
      try await expectAll(kind, kills: true) { round, server, _, haveLeft in
        guard round < 2 else { return }
        // Amid what is on its way, when some of it has left, another number of them each time.
        try await eventually("some are at the server") { try haveLeft() >= 2 * round + 1 }
        server.kill()
        try server.start()
      }
    }
  }
}

extension Person {
  /// Lets what waits for the receipt of a message be sent again at once: as if its time had come.
  func sendAgain(_ message: MessageSummary) throws {
    let digest = try vault.accounts.peerDigest(message.peer ?? "")
    for record in try vault.core.database.parcels(.message, [.posted, .waiting]) where record.peer == digest {
      guard let last = record.handedOver[.account], vault.core.surroundings.now() - last > 500 else { continue }
      var again = record
      again.handedOver[.account] = nil
      _ = try vault.core.database.updateParcel(again, from: record)
    }
  }
}
