import ChatServers
import Glibc
import MemoryScan
import Sodium
import Testing
import XMPPRequests

@testable import NetLink

/// Connections to servers of XMPP through the program itself.
@Suite(
  .enabled(if: ChatServer.isAvailable, "prosody and ejabberd aren't installed"), .serialized,
  .timeLimit(.minutes(10)))
struct ChatTests {
  private func hex(_ bytes: borrowing SecretBytes) throws -> SecretBytes { try HexText.encode(bytes.bytes) }

  @Test(arguments: ChatServer.Kind.allCases)
  func `everything goes as over a connection of this process, and the password stays here`(
    _ kind: ChatServer.Kind
  ) async throws {
    let server = try ChatServer.shared(kind)
    let (first, second) = (realHelper(), realHelper())
    let password = try hex(SecretBytes(random: 24))
    let other = try hex(SecretBytes(random: 24))
    let ada = try server.account("ada" + XMPPConnection.freshID())
    let bob = try server.account("bob" + XMPPConnection.freshID())
    // Making accounts gives the password to a server, and so to the helper: another one than that which logs in.
    let third = realHelper()
    try await third.register(ada, password: password)
    try await third.register(bob, password: other)
    let one = try await first.connect(ada, password: password, resource: "one")
    let two = try await second.connect(bob, password: other)
    #expect(one.address == (try ada.address.with(resource: "one")))
    try await one.announce()
    try await two.announce()
    try await two.ping()
    #expect(try await one.roster() == [])
    #expect(try await !one.features().isEmpty)
    let sealed = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
    try await one.send("hello", to: two.address, id: "text")
    try await one.send(parcel: sealed, to: two.address, id: "parcel")
    var (texts, parcels): ([String], [[UInt8]]) = ([], [])
    var collector = XMPPParcelCollector()
    for await event in two.events {
      switch event {
      case .message(let message): texts.append(message.body)
      case .parcel(let part): if let parcel = collector.add(part) { parcels.append(parcel.bytes) }
      default: break
      }
      if !texts.isEmpty && !parcels.isEmpty { break }
    }
    #expect(texts == ["hello"] && parcels == [sealed])
    #expect(await one.progress() > 260_000)
    var needles = Needles()
    needles.add("password", password.bytes)
    for process in [getpid(), try first.process().process] {
      let found = try ProcessMemory.of(process).search(for: needles).summary
      #expect(found == [], "\(process == getpid() ? "vault" : "vault-net")")
    }
    one.logout()
    var last: XMPPEvent?
    for await event in one.events { last = event }
    #expect(last == .closed(nil))
    two.close()
  }

  @Test(arguments: ChatServer.Kind.allCases)
  func `what is wrong is told as before`(_ kind: ChatServer.Kind) async throws {
    let server = try ChatServer.shared(kind)
    let helper = realHelper()
    let password = try hex(SecretBytes(random: 8))
    await #expect(throws: XMPPError.wrongPassword) {
      try await connect(helper, server.account("nobody"), password)
    }
    let strange = try XMPPAccount(JID("ada@localhost"), host: "127.0.0.1", port: server.port)
    await #expect { try await connect(helper, strange, password) } throws: { error in
      if case .untrusted = error as? XMPPError { true } else { false }
    }
    let nowhere = try server.account("ada", certificates: "/nowhere/file")
    await #expect(
      throws: XMPPError.untrusted("the file of certificates can't be read: no such file or directory")
    ) { try await connect(helper, nowhere, password) }
  }

  private func connect(
    _ helper: NetHelper, _ account: XMPPAccount, _ password: borrowing SecretBytes
  ) async throws -> XMPPConnection { try await helper.connect(account, password: password) }

  @Test func `a helper that is killed ends its connections with a word`() async throws {
    let server = try ChatServer.shared(.prosody)
    let helper = realHelper()
    let account = try server.account("eve" + XMPPConnection.freshID())
    let password = try hex(SecretBytes(random: 8))
    try await helper.register(account, password: password)
    let connection = try await helper.connect(account, password: password)
    kill(try helper.process().process, SIGKILL)
    var last: XMPPEvent?
    for await event in connection.events { last = event }
    #expect(last == .closed(.unreachable("the helper vault-net was ended by signal 9; try again")))
    await #expect(throws: XMPPError.closed) { try await connection.ping() }
    let again = try await helper.connect(account, password: password)
    again.close()
  }
}
