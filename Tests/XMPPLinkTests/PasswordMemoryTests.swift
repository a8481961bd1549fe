import ChatServers
import MemoryScan
import Sodium
import Testing

@testable import XMPPLink
@testable import XMPPRequests

extension ServerTests {
  @Suite(.enabled(if: ChatServer.isAvailable, chatServerReason), .serialized, .timeLimit(.minutes(10)))
  struct PasswordMemoryTests {
    /// 48 hexadecimal digits, in secret memory alone.
    private func freshPassword() throws -> SecretBytes { try hex(SecretBytes(random: 24)) }
    private func hex(_ bytes: borrowing SecretBytes) throws -> SecretBytes { try HexText.encode(bytes.bytes) }

    private func add(_ name: String, _ password: borrowing SecretBytes, to needles: inout Needles) throws {
      needles.add(name, password.bytes)
      let stanza = try Password(password).stanza(head: [], tail: [])
      stanza.bytes.withUnsafeBytes {
        needles.add(name + " as it is sent", UnsafeRawBufferPointer(rebasing: $0[SecretStanza.lead...]))
      }
    }

    @Test func `a password can be found outside of secret memory`() throws {
      var needles = Needles()
      let password = try freshPassword()
      try add("password", password, to: &needles)
      let copy = password.withUnsafeBytes { Array($0) }
      let findings = try ProcessMemory.own.search(for: needles).findings
      withExtendedLifetime(copy) { #expect(!findings.isEmpty) }
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `a login leaves nothing of the password in memory`(_ kind: ChatServer.Kind) async throws {
      let server = try ChatServer.shared(kind)
      var needles = Needles()
      let password = try freshPassword()
      try add("password", password, to: &needles)
      let account = try server.account("mem" + XMPPConnection.freshID())
      // No account of this name: the password is used all the same, and nothing but a login happens.
      await #expect(throws: XMPPError.wrongPassword) { try await connect(account, password) }
      #expect(try ProcessMemory.own.search(for: needles).summary == [])
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `making an account and changing its password leave nothing either`(_ kind: ChatServer.Kind) async throws {
      let server = try ChatServer.shared(kind)
      var needles = Needles()
      let first = try freshPassword()
      let second = try freshPassword()
      try add("first password", first, to: &needles)
      try add("second password", second, to: &needles)
      let account = try server.account("mem" + XMPPConnection.freshID())
      try await XMPPConnection.register(account, password: first)
      let connection = try await connect(account, first)
      try await connection.changePassword(to: second)
      connection.close()
      for await _ in connection.events {}
      #expect(try ProcessMemory.own.search(for: needles).summary == [])
    }

    private func connect(_ account: XMPPAccount, _ password: borrowing SecretBytes) async throws -> XMPPConnection {
      try await XMPPConnection.connect(account, password: password)
    }
  }
}
