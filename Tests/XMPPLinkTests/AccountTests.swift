import ChatServers
import Sodium
import Testing

@testable import XMPPLink
@testable import XMPPRequests

@Suite(.serialized) struct ServerTests {
  @Suite(.enabled(if: ChatServer.isAvailable, chatServerReason), .serialized, .timeLimit(.minutes(10)))
  struct AccountTests {
    @Test(arguments: ChatServer.Kind.allCases)
    func `an account is made, logs in and says goodbye`(_ kind: ChatServer.Kind) async throws {
      let client = try await ChatServer.shared(kind).newConnection("ada")
      #expect(client.connection.address.bare == client.address)
      #expect(client.connection.address.resource?.isEmpty == false)
      try await client.connection.ping()
      client.connection.logout()
      #expect(try await client.end() == nil)
      await #expect(throws: XMPPError.closed) { try await client.connection.ping() }
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `a wrong password, and an account that doesn't exist, are told from other faults`(_ kind: ChatServer.Kind)
      async throws
    {
      let server = try ChatServer.shared(kind)
      let client = try await server.newConnection("ada")
      await #expect(throws: XMPPError.wrongPassword) {
        try await XMPPConnection.connect(client.account, password: password("other"))
      }
      await #expect(throws: XMPPError.wrongPassword) {
        try await XMPPConnection.connect(server.account("nobody"), password: password("other"))
      }
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `a certificate that nobody trusts is refused`(_ kind: ChatServer.Kind) async throws {
      let server = try ChatServer.shared(kind)
      let client = try await server.newConnection("ada")
      let account = try XMPPAccount(client.address, host: "127.0.0.1", port: server.port)
      await #expect {
        try await XMPPConnection.connect(account, password: password(client.name))
      } throws: {
        if case .untrusted(let reason)? = $0 as? XMPPError { !reason.isEmpty } else { false }
      }
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `a certificate of another name is refused`(_ kind: ChatServer.Kind) async throws {
      let server = try ChatServer.shared(kind)
      let account = try XMPPAccount(
        JID("ada@elsewhere.example"), host: "127.0.0.1", port: server.port, certificates: server.certificates)
      // Prosody doesn't know the name at all, and says so before.
      await #expect {
        try await XMPPConnection.connect(account, password: password("ada"))
      } throws: {
        switch $0 as? XMPPError {
        case .untrusted, .streamEnded: true
        default: false
        }
      }
    }

    @Test func `nobody there is told from the rest`() async throws {
      let account = try XMPPAccount(JID("ada@localhost"), host: "127.0.0.1", port: UInt16(Loopback.freePort()))
      await #expect {
        try await XMPPConnection.connect(account, password: password("ada"))
      } throws: {
        if case .unreachable? = $0 as? XMPPError { true } else { false }
      }
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `an account isn't made twice`(_ kind: ChatServer.Kind) async throws {
      let client = try await ChatServer.shared(kind).newConnection("ada")
      await #expect(throws: XMPPError.accountExists) {
        try await XMPPConnection.register(client.account, password: password("other"))
      }
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `a changed password replaces the old one`(_ kind: ChatServer.Kind) async throws {
      let client = try await ChatServer.shared(kind).newConnection("ada")
      try await client.connection.changePassword(to: password("changed"))
      await #expect(throws: XMPPError.wrongPassword) { try await client.again() }
      let again = try await XMPPConnection.connect(client.account, password: password("changed"))
      again.close()
    }

    @Test func `a new password has to be ASCII, and none may have control characters`() async throws {
      let server = try ChatServer.shared(.prosody)
      let umlaut = try SecretBytes(copying: Array("grün".utf8).span.bytes)
      await #expect(throws: XMPPError.self) { try await XMPPConnection.register(server.account("x"), password: umlaut) }
      let control = try SecretBytes(copying: Array("a\nb".utf8).span.bytes)
      await #expect(throws: XMPPError.invalidPassword("it has a control character")) {
        try await XMPPConnection.connect(server.account("x"), password: control)
      }
    }
  }
}
