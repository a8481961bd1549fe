import ChatServers
import Testing

@testable import XMPPLink
@testable import XMPPRequests

extension ServerTests {
  /// What another client can send through an honest server.
  @Suite(.enabled(if: ChatServer.isAvailable, chatServerReason), .serialized, .timeLimit(.minutes(10)))
  struct HostileClientTests {
    private func send(_ text: String, by client: TestClient) async throws {
      _ = try await client.loop.perform(Request(.stanza(Array(text.utf8))))
    }

    private func message(to bob: TestClient, _ content: String) -> String {
      "<message type='chat' id='h' to='\(bob.connection.address)'>\(content)</message>"
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `stanzas that aren't what they seem are passed over, and named`(_ kind: ChatServer.Kind) async throws {
      let server = try ChatServer.shared(kind)
      let (eve, bob) = (try await server.newConnection("eve"), try await server.newConnection("bob"))
      let parcel = "<parcel xmlns='\(Namespace.parcel)'"
      let contents = [
        "\(parcel) id='p'>not base64!</parcel>", "\(parcel)>AAAA</parcel>", "\(parcel) id='p'>AAA</parcel>",
        "\(parcel) id='p' part='2' of='2'>AAAA</parcel>", "\(parcel) id='p' part='-1' of='2'>AAAA</parcel>",
        "\(parcel) id='p' part='0' of='0'>AAAA</parcel>", "\(parcel) id='p' part='0' of='129'>AAAA</parcel>",
        "\(parcel) id='p' part='99999999999999999999' of='2'>AAAA</parcel>", "\(parcel) id='p p'>AAAA</parcel>",
        "\(parcel) id='p'><parcel xmlns='\(Namespace.parcel)' id='q'>AAAA</parcel></parcel>",
        "\(parcel) id='p' branch='0'>AAAA</parcel>", "\(parcel) id='p' hops='1'>AAAA</parcel>",
        "\(parcel) id='p' branch='5' hops='1'>AAAA</parcel>", "\(parcel) id='p' branch='0' hops='0'>AAAA</parcel>",
        "\(parcel) id='p' branch='0' hops='9'>AAAA</parcel>", "\(parcel) id='p' branch='-1' hops='1'>AAAA</parcel>",
        "\(parcel) id='p' branch='01' hops='1'>AAAA</parcel>", "\(parcel) id='p' branch='0' hops=''>AAAA</parcel>",
        "\(parcel) id='p'>" + String(repeating: "A", count: 240_004) + "</parcel>",
        "<received xmlns='\(Namespace.receipts)'/>",
        "<result xmlns='\(Namespace.archive)' queryid='x' id='1'><forwarded xmlns='\(Namespace.forward)'/></result>",
      ]
      for content in contents { try await send(message(to: bob, content), by: eve) }
      // Passed over without a word: of another kind, empty, an answer to no question, somebody else's roster.
      try await send("<message type='headline' to='\(bob.connection.address)'><body>x</body></message>", by: eve)
      try await send(message(to: bob, "<body/>"), by: eve)
      try await send("<iq type='result' id='begin' to='\(bob.connection.address)'/>", by: eve)
      try await send(
        "<iq type='set' id='r' to='\(bob.connection.address)'><query xmlns='\(Namespace.roster)'>"
          + "<item jid='x@y' subscription='both'/></query></iq>", by: eve)
      try await send(message(to: bob, "<body>end</body>"), by: eve)
      _ = try await bob.message("end")
      #expect(await bob.ignored().count == contents.count)
      let others = await bob.events.filter { event in
        switch event {
        case .ignored, .presence: false
        case .message(let message): message.body != "end"
        default: true
        }
      }
      #expect(others == [])
      try await bob.connection.ping()
    }

    /// Whatever the server lets through: the connection lives, or ends with a word, and the next one works.
    @Test(arguments: ChatServer.Kind.allCases, Bomb.allCases)
    func `a stanza built to exhaust does no harm`(_ kind: ChatServer.Kind, _ bomb: Bomb) async throws {
      let server = try ChatServer.shared(kind)
      let (eve, bob) = (try await server.newConnection("eve"), try await server.newConnection("bob"))
      try await send(message(to: bob, bomb.content(for: kind)), by: eve)
      // The server may have thrown out who sent it.
      let carol = try await server.newConnection("carol")
      var last = bob
      for attempt in 0..<2 {
        let body = "after \(attempt)"
        try await carol.connection.send(body, to: last.connection.address, id: "after")
        let hasCome = try await last.wait("after, or the end") { event -> Bool? in
          if case .message(let message) = event { return message.body == body ? true : nil }
          if case .closed = event { return false }
          return nil
        }
        // Carol's words may have come before Eve's.
        if hasCome, (try? await last.connection.ping()) != nil { break }
        try #require(attempt == 0, "\(bomb)")
        let reason = try await last.end()
        #expect(reason == .tooMuch("a stanza that doesn't end"), "\(bomb)")
        last = try await bob.again()
      }
    }

    enum Bomb: CaseIterable, Sendable {
      case depth, breadth, lines, references, attributes, texts

      func content(for kind: ChatServer.Kind) -> String {
        switch self {
        case .depth:
          // ejabberd 23.01 itself ends of 10,000.
          String(repeating: "<a>", count: kind == .ejabberd ? 3000 : 30_000)
            + String(repeating: "</a>", count: kind == .ejabberd ? 3000 : 30_000)
        case .breadth: String(repeating: "<a/>", count: 60_000)
        case .lines: "<body>" + String(repeating: "\n", count: 240_000) + "</body>"
        case .references: "<body>" + String(repeating: "&amp;", count: 45_000) + "</body>"
        case .attributes: "<a " + (0..<15_000).map { "b\($0)='' " }.joined() + "/>"
        case .texts: "<b>" + String(repeating: "x<a/>", count: 45_000) + "</b>"
        }
      }
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `a flood of questions leaves the connection in use`(_ kind: ChatServer.Kind) async throws {
      let server = try ChatServer.shared(kind)
      let (eve, bob) = (try await server.newConnection("eve"), try await server.newConnection("bob"))
      for number in 0..<1000 {
        try await send(
          "<iq type='get' id='\(number)' to='\(bob.connection.address)'><ping xmlns='urn:xmpp:ping'/></iq>", by: eve)
      }
      try await bob.connection.ping()
      try await bob.connection.send("well", to: eve.address, id: "well")
      _ = try await eve.message("well")
    }
  }
}
