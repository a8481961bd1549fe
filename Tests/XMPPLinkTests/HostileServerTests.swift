import ChatServers
import Concurrency
import Foundation
import Glibc
import Testing

@testable import XMPPLink
@testable import XMPPRequests

/// Who pretends to be a server, without encryption: a script of what it says, each line after something was read.
private final class FakeServer: Sendable {
  let port: UInt16
  /// Ends when it has said all that it says.
  private let end: AsyncStream<Never>

  /// - Parameter lines: what is said after each piece that came; then silence, or the end.
  init(_ lines: [[UInt8]], closes: Bool = false) throws {
    let (socket, port) = try Loopback.listener()
    self.port = port
    let (end, ending) = AsyncStream.makeStream(of: Never.self)
    self.end = end
    BackgroundThread.start {
      defer { ending.finish() }
      let peer = accept(socket, nil, nil)
      close(socket)
      guard peer >= 0 else { return }
      var buffer = [UInt8](repeating: 0, count: 4096)
      for line in lines {
        guard read(peer, &buffer, buffer.count) > 0 else { break }
        var sent = 0
        while sent < line.count {
          let count = line[sent...].withUnsafeBytes { Glibc.send(peer, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
          guard count > 0 else { break }
          sent += count
        }
      }
      ending.finish()
      if !closes { while read(peer, &buffer, buffer.count) > 0 {} }
      close(peer)
    }
  }

  /// Returns when it says nothing more.
  func isSilent() async { for await _ in end {} }

  func connect() async throws -> XMPPConnection {
    try await XMPPConnection.connect(
      XMPPAccount(JID("ada@localhost"), host: "127.0.0.1", port: port), password: password("ada"))
  }
}

@Suite(.serialized, .timeLimit(.minutes(10))) struct HostileServerTests {
  static let head =
    "<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' id='1' "
    + "from='localhost' version='1.0'>"
  static let start =
    "<stream:features><starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'><required/></starttls></stream:features>"
  static let plain =
    "<stream:features><mechanisms xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><mechanism>PLAIN</mechanism>"
    + "<mechanism>SCRAM-SHA-256</mechanism></mechanisms></stream:features>"

  private func failure(_ lines: [String], closes: Bool = false) async throws -> XMPPError? {
    let server = try FakeServer(lines.map { Array($0.utf8) }, closes: closes)
    do {
      _ = try await within(.seconds(60)) { try await server.connect() }
      return nil
    } catch let error as XMPPError { return error }
  }

  @Test func `a server without encryption is told nothing`() async throws {
    #expect(try await failure([Self.head + Self.plain]) == .unencrypted)
  }

  @Test func `a server that takes its offer of encryption back is left`() async throws {
    let no = "<failure xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"
    #expect(try await failure([Self.head + Self.start, no]) == .unencrypted)
    #expect(try await failure([Self.head + Self.start, Self.plain]) == .unencrypted)
  }

  @Test func `what was slipped in before the encryption counts for nothing`() async throws {
    let proceed = "<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"
    let error = try await failure([Self.head + Self.start, proceed + Self.plain], closes: true)
    #expect(error != nil && error != .wrongPassword)
  }

  @Test func `a stream that isn't one is left`() async throws {
    for line in ["HTTP/1.1 400 Bad Request\r\n\r\n", Self.head + "<a", "\u{0}\u{1}\u{2}", "<html>", Self.head + "</x>"]
    {
      let error = try await failure([line], closes: true)
      switch error {
      case .malformed, .unreachable: break
      default: Issue.record("\(String(describing: error)) for \(line)")
      }
    }
  }

  @Test func `a server's own word for why it ends the stream is told`() async throws {
    let error = "<stream:error><host-unknown xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error>"
    #expect(try await failure([Self.head + error]) == .streamEnded(XMPPCondition("host-unknown")))
  }

  @Test func `a server that closes at once is unreachable`() async throws {
    switch try await failure([""], closes: true) {
    case .unreachable: break
    case let error: Issue.record("\(String(describing: error))")
    }
  }

  @Test(arguments: ["<a>", "<a/>", "<a b='", "x"])
  func `a stanza without an end ends the connection`(_ piece: String) async throws {
    let isAttribute = piece.hasSuffix("'")
    let rest = String(repeating: isAttribute ? "y" : piece, count: 4_000_000 / (isAttribute ? 1 : piece.utf8.count))
    let endless = Self.head + "<message>" + (isAttribute ? piece : "") + rest
    #expect(try await failure([endless]) == .tooMuch("a stanza that doesn't end"))
  }

  @Test func `a deep stanza is taken apart without harm`() async throws {
    let deep = String(repeating: "<a>", count: 6000) + String(repeating: "</a>", count: 6000)
    let error = try await failure([Self.head + deep])
    #expect(error == .malformed("a stanza before the login"))
  }

  @Test func `entities that blow up are refused`() async throws {
    let bomb =
      "<?xml version='1.0'?><!DOCTYPE x [<!ENTITY a '" + String(repeating: "x", count: 1000) + "'>"
      + "<!ENTITY b '" + String(repeating: "&a;", count: 1000) + "'><!ENTITY c '"
      + String(repeating: "&b;", count: 1000) + "'>]>"
    let head = String(Self.head.dropFirst("<?xml version='1.0'?>".count))
    let error = try await failure([bomb + head + "<message><body>&c;</body></message>"], closes: true)
    switch error {
    case .malformed, .tooMuch, .unreachable: break
    default: Issue.record("\(String(describing: error))")
    }
  }

  @Test(arguments: [[], [head], [head + start, "<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"]])
  func `a server that keeps silent holds nobody up who doesn't want to wait`(_ lines: [String]) async throws {
    let server = try FakeServer(lines.map { Array($0.utf8) })
    let task = Task { try await server.connect() }
    await server.isSilent()
    task.cancel()
    // Where a deadline had ended it, it would say so.
    await #expect(throws: XMPPError.cancelled) { try await task.value }
  }
}
