import ChatServers
import Foundation
import Sodium
import Testing

@testable import XMPPLink
@testable import XMPPRequests

extension ServerTests {
  @Suite(.enabled(if: ChatServer.isAvailable, chatServerReason), .serialized, .timeLimit(.minutes(10)))
  struct ConversationTests {
    private func pair(_ kind: ChatServer.Kind) async throws -> (TestClient, TestClient) {
      let server = try ChatServer.shared(kind)
      return (try await server.newConnection("ada"), try await server.newConnection("bob"))
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `two become contacts, see each other come and go, and part`(_ kind: ChatServer.Kind) async throws {
      let (ada, bob) = try await pair(kind)
      #expect(try await ada.connection.roster() == [])
      #expect(try await bob.connection.roster() == [])
      try await ada.connection.setContact(bob.address, name: "Bob <&'\"> é")
      try await ada.connection.change(.requested, with: bob.address)
      _ = try await bob.wait("request") { if case .subscription(.requested, ada.address) = $0 { true } else { nil } }
      try await bob.connection.change(.approved, with: ada.address)
      try await bob.connection.change(.requested, with: ada.address)
      _ = try await ada.wait("request") { if case .subscription(.requested, bob.address) = $0 { true } else { nil } }
      try await ada.connection.change(.approved, with: bob.address)
      _ = try await ada.wait("contact") {
        if case .contact(let contact) = $0, contact.subscription == .both { true } else { nil }
      }
      let roster = try await ada.connection.roster()
      #expect(roster.map(\.address) == [bob.address])
      #expect(roster.first?.name == "Bob <&'\"> é")
      #expect(roster.first?.subscription == .both)

      try await bob.connection.announce(.away, status: "at lunch")
      let away = try await ada.wait("absence") {
        if case .presence(let presence) = $0, presence.state == .away { presence } else { nil }
      }
      #expect(away.from == bob.connection.address && away.status == "at lunch")
      bob.connection.logout()
      let gone = try await ada.latest("end") { event -> XMPPPresence.State? in
        if case .presence(let presence) = event, presence.from == bob.connection.address { presence.state } else { nil }
      } until: {
        $0 == .unavailable
      }
      #expect(gone == .unavailable)

      try await ada.connection.removeContact(bob.address)
      _ = try await ada.wait("removal") {
        if case .contact(let contact) = $0, contact.subscription == .remove { true } else { nil }
      }
      #expect(try await ada.connection.roster() == [])
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `a message arrives as it was written, and its receipt comes back`(_ kind: ChatServer.Kind) async throws {
      let (ada, bob) = try await pair(kind)
      let body = "one\ntwo\n<b>&amp; 'quoted' \"𝄞\" \t end "
      try await ada.connection.send(body, to: bob.address, id: "m-1")
      let message = try await bob.wait("message") { if case .message(let message) = $0 { message } else { nil } }
      #expect(message.body == body)
      #expect(message.id == "m-1" && message.wantsReceipt && message.stamp == nil)
      #expect(message.from == ada.connection.address)
      try await bob.connection.acknowledge("m-1", to: message.from)
      #expect(try await ada.receipt("m-1") == bob.connection.address)
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `a parcel arrives byte by byte, also at somebody who was away`(_ kind: ChatServer.Kind) async throws {
      let (ada, bob) = try await pair(kind)
      let bytes = (0..<XMPPParcelPart.sizeLimit).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
      try await ada.connection.send(parcel: bytes, to: bob.address, id: "p-1")
      #expect(try await bob.parcel("p-1") == bytes)
      bob.connection.logout()
      _ = try await bob.end()
      try await ada.connection.send(parcel: Array(bytes[..<5000]), to: bob.address, id: "p-2")
      try await ada.connection.ping()
      let again = try await bob.again()
      #expect(try await again.parcel("p-2") == Array(bytes[..<5000]))
      try await again.connection.acknowledge("p-2", to: ada.address)
      #expect(try await ada.receipt("p-2").bare == bob.address)
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `a parcel of three megabytes arrives in parts, and empty ones do`(_ kind: ChatServer.Kind) async throws {
      let (ada, bob) = try await pair(kind)
      let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 11) }
      let start = ContinuousClock.now
      try await ada.connection.send(parcel: bytes, to: bob.address, id: "large")
      #expect(try await bob.parcel("large", seconds: 180) == bytes)
      print("3 MB over \(kind): \(start.duration(to: .now))")
      try await ada.connection.send(parcel: [], to: bob.address, id: "empty")
      #expect(try await bob.parcel("empty") == [])
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `a text that XML makes longer than servers take is refused here, and ends no connection`(
      _ kind: ChatServer.Kind
    ) async throws {
      let (ada, bob) = try await pair(kind)
      await #expect {
        try await ada.connection.send(String(repeating: "\"", count: 65_536), to: bob.address, id: "long")
      } throws: { error in
        if case XMPPError.invalidContent = error { true } else { false }
      }
      // As many as go through.
      let text = String(repeating: "&", count: 39_000)
      try await ada.connection.send(text, to: bob.address, id: "all")
      try await ada.connection.ping()
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `what the server's machine has taken, and what came from it, is counted, until there is no connection`(
      _ kind: ChatServer.Kind
    ) async throws {
      let (ada, bob) = try await pair(kind)
      let (before, atBob) = (await ada.connection.progress(), await bob.connection.progress())
      #expect(before > 0)
      try await ada.connection.send(parcel: [UInt8](repeating: 1, count: 90_000), to: bob.address, id: "counted")
      try await ada.connection.ping()
      // Base64 makes four bytes of three.
      let after = await ada.connection.progress()
      #expect(after >= before + 120_000 && after < before + 200_000)
      _ = try await bob.parcel("counted")
      #expect(await bob.connection.progress() >= atBob + 120_000)
      ada.connection.close()
      _ = try await ada.end()
      #expect(await ada.connection.progress() == 0)
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `what a carrier says of a parcel comes with each part, also at somebody who was away`(
      _ kind: ChatServer.Kind
    ) async throws {
      let (ada, bob) = try await pair(kind)
      bob.connection.logout()
      _ = try await bob.end()
      let bytes = [UInt8](repeating: 7, count: XMPPParcelPart.sizeLimit + 1)
      let carriage = try #require(XMPPCarriage(branch: 4, hops: 2))
      try await ada.connection.send(parcel: bytes, to: bob.address, id: "carried", carriage: carriage)
      try await ada.connection.ping()
      let again = try await bob.again()
      #expect(try await again.parcel("carried") == bytes)
      let said = await again.events.compactMap { if case .parcel(let part) = $0 { part.carriage } else { nil } }
      #expect(said.count == 2 && said.allSatisfy { $0 == carriage })
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `what nobody can get comes back`(_ kind: ChatServer.Kind) async throws {
      let ada = try await ChatServer.shared(kind).newConnection("ada")
      try await ada.connection.send("hello", to: JID("nobody@localhost"), id: "lost")
      let condition = try await ada.wait("error") {
        if case .undelivered("lost", _, let condition) = $0 { condition } else { nil }
      }
      #expect(condition.description == "service-unavailable")
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `the archive is read page by page, forwards and backwards`(_ kind: ChatServer.Kind) async throws {
      let (ada, bob) = try await pair(kind)
      #expect(try await ada.connection.hasArchive())
      for number in 0..<12 { try await ada.connection.send("text \(number)", to: bob.address, id: "a-\(number)") }
      _ = try await bob.message("text 11")
      try await bob.connection.send("answer", to: ada.address, id: "b-0")
      _ = try await ada.message("answer")
      let expected = (0..<12).map { "text \($0)" } + ["answer"]
      var read: [XMPPMessage] = []
      var place = XMPPArchivePlace.beginning
      for _ in 0..<10 {
        let page = try await bob.connection.archive(with: ada.address, from: place, limit: 5)
        #expect(page.messages.count <= 5)
        read += page.messages
        guard !page.isComplete, let last = page.last else { break }
        place = .after(last)
      }
      #expect(read.map(\.body) == expected)
      #expect(read.allSatisfy { $0.stamp != nil })
      #expect(read.first?.from == ada.connection.address && read.last?.from.bare == bob.address)
      let newest = try await bob.connection.archive(with: ada.address, from: .end, limit: 3)
      #expect(newest.messages.map(\.body) == Array(expected.suffix(3)))
      let before = try await bob.connection.archive(with: ada.address, from: .before(newest.first ?? ""), limit: 3)
      #expect(before.messages.map(\.body) == Array(expected.dropLast(3).suffix(3)))
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `a second connection of the same device ends the first, which is told why`(_ kind: ChatServer.Kind)
      async throws
    {
      let ada = try await ChatServer.shared(kind).newConnection("ada")
      let again = try await ada.again()
      #expect(try await ada.end() == .streamEnded(XMPPCondition("conflict")))
      try await again.connection.ping()
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `a cancelled question ends at once, and the connection goes on`(_ kind: ChatServer.Kind) async throws {
      let (ada, bob) = try await pair(kind)
      // Nobody answers what is no question.
      let stanza = "<message type='chat' id='asked' to='\(bob.connection.address)'><body>asked</body></message>"
      let task = Task {
        try await ada.loop.perform(Request(.stanza(Array(stanza.utf8)), query: ("never", nil)))
      }
      _ = try await bob.message("asked")
      task.cancel()
      await #expect(throws: XMPPError.cancelled) { _ = try await task.value }
      try await ada.connection.ping()
    }
  }
}
