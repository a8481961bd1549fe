import CSodium
import CStropheShims
package import Sodium

/// A connection of one account to its server: encrypted, logged in, with its own thread for as long as it lives.
///
/// Nothing here tries again, waits for a time or keeps anything: deadlines are the caller's, who cancels the task that
/// waits, and so are reconnecting, resending and dedup. Each call waits for its own result alone. When the connection
/// ends, ``events`` says why and everything that waits fails with the same reason; a new connection is a new value.
package final class XMPPConnection: Sendable {
  /// The account with this device's name, as the server gave it.
  package let address: JID
  /// What comes, in order, for one reader. What isn't taken in time is dropped and counted, see
  /// ``XMPPEvent/missed(_:)``.
  package let events: AsyncStream<XMPPEvent>

  let loop: Loop

  private init(_ loop: Loop, _ address: JID) {
    self.loop = loop
    self.address = address
    events = loop.events.stream
  }

  deinit { loop.breakOff() }

  /// Keeps what a connection needs and a program with more than a thousand open files has no more: for those that will open them. Costs four
  /// descriptors. The first connection does it, too.
  package static func prepare() { vault_strophe_keep_descriptors() }

  /// Connects and logs in. The server has to encrypt, with a certificate for the account's domain, and to do without
  /// the password itself (SCRAM). `resource` names this device; nil leaves that to the server.
  ///
  /// Nobody sees the account come until ``announce(_:status:)``.
  package static func connect(
    _ account: XMPPAccount, password: borrowing SecretBytes, resource: String? = nil
  ) async throws(XMPPError) -> XMPPConnection {
    if let resource { _ = try account.address.with(resource: resource) }
    let loop = try loop(account, try Password(password), .login(resource: resource))
    let address = try await loop.begin()
    return XMPPConnection(loop, address)
  }

  /// Makes the account on its server, if that takes new ones (XEP-0077). It isn't logged in by this.
  ///
  /// The password goes to the server, inside the encryption. It has to be printable ASCII.
  package static func register(
    _ account: XMPPAccount, password: borrowing SecretBytes
  ) async throws(XMPPError) {
    let loop = try loop(account, try Password(password), .registration)
    _ = try await loop.begin()
    loop.order(.leave)
  }

  private static func loop(
    _ account: XMPPAccount, _ password: Password, _ goal: Negotiation.Goal
  ) throws(XMPPError) -> Loop {
    try Loop(account, Negotiation(account.address, password: password, goal: goal, nonce: freshID()))
  }

  /// Changes the account's password. The new one has to be printable ASCII.
  package func changePassword(to password: borrowing SecretBytes) async throws(XMPPError) {
    let id = Self.freshID()
    let stanza = try Registration.stanza(
      id: id, domain: address.domain, local: address.local ?? "", try Password(password))
    _ = try await loop.perform(Request(.secret(stanza), query: (id, address.server)))
  }

  /// Waits for the server, or somebody, to answer (XEP-0199).
  package func ping(_ to: JID? = nil) async throws(XMPPError) {
    _ = try await ask("get", to: to ?? address.server) { writer, _ in writer.element("ping", Namespace.ping) }
  }

  /// Bytes that the server's machine has taken of what was sent, and those that have come from it. While this grows, what
  /// waits gets on, however slowly the server reads, and so does an answer behind much else that comes.
  package var progress: UInt64 { loop.progress }

  /// Says goodbye. Returns at once; ``events`` ends when the server has answered, two seconds later at most.
  package func logout() { loop.order(.leave) }

  /// Ends the connection at once, without a word.
  package func close() { loop.breakOff() }

  /// 128 fresh random bits as text, to name something that is sent.
  package static func freshID() -> String {
    // libsodium prepares itself at the first use of random bytes.
    var bytes = [UInt8](repeating: 0, count: 16)
    randombytes_buf(&bytes, bytes.count)
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// Sends a stanza whose turn is waited for, and no answer.
  func send(_ build: (inout XMLWriter) -> Void) async throws(XMPPError) {
    var writer = XMLWriter()
    build(&writer)
    writer.endAll()
    _ = try await loop.perform(Request(.stanza(writer.bytes)))
  }

  /// Asks and waits for the answer.
  func ask(
    _ type: String, to: JID?, collectLimit: Int = 0, _ build: (inout XMLWriter, String) -> Void
  ) async throws(XMPPError) -> Request.Answer {
    let id = Self.freshID()
    var writer = XMLWriter()
    writer.begin("iq", nil, [("type", type), ("id", id), ("to", to?.description)])
    build(&writer, id)
    writer.endAll()
    return try await loop.perform(Request(.stanza(writer.bytes), query: (id, to), collectLimit: collectLimit))
  }
}
