import CSodium
package import Sodium

/// A connection of one account to its server: encrypted and logged in.
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

  package let carrier: any XMPPCarrier

  /// `carrier` is connected; it is closed with this value.
  package init(_ carrier: any XMPPCarrier, address: JID, events: EventQueue) {
    self.carrier = carrier
    self.address = address
    self.events = events.stream
  }

  deinit { carrier.close() }

  /// The new one has to be printable ASCII.
  package func changePassword(to password: borrowing SecretBytes) async throws(XMPPError) {
    try await ask(.changePassword(try Password(password)))
  }

  /// Waits for the server, or somebody, to answer (XEP-0199).
  package func ping(_ to: JID? = nil) async throws(XMPPError) { try await ask(.ping(to)) }

  /// Bytes that the server's machine has taken of what was sent, and those that have come from it. While this grows,
  /// what waits gets on, however slowly the server reads, and so does an answer behind much else that comes.
  package func progress() async -> UInt64 { await carrier.progress() }

  /// Says goodbye. Returns at once; ``events`` ends when the server has answered, two seconds later at most.
  package func logout() { carrier.logout() }

  /// Ends the connection at once, without a word.
  package func close() { carrier.close() }

  /// 128 fresh random bits as text, to name something that is sent.
  package static func freshID() -> String {
    // libsodium prepares itself at the first use of random bytes.
    var bytes = [UInt8](repeating: 0, count: 16)
    randombytes_buf(&bytes, bytes.count)
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// Longest names that are used, of stanzas and in archives.
  static let nameLimit = 256

  /// What can't be said isn't even handed over.
  static func check(_ text: String?, limit: Int) throws(XMPPError) {
    guard let text else { return }
    guard text.utf8.count <= limit else { throw .invalidContent("longer than \(limit) bytes") }
    guard !text.utf8.contains(0) else { throw .invalidContent("it has a character that XML doesn't allow") }
  }

  func ask(_ request: XMPPRequest) async throws(XMPPError) { _ = try await carrier.perform(request) }

  func words(_ request: XMPPRequest) async throws(XMPPError) -> [String] {
    guard case .words(let words) = try await carrier.perform(request) else { throw .malformed("another answer") }
    return words
  }
}
