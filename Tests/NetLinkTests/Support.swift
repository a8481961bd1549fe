import ChatServers
import Concurrency
import Foundation
import Glibc
import HTTPRequests
import Sodium
import Testing

@testable import NetLink

/// A server that answers one request after the other with the same bytes, or never.
final class PlainServer: Sendable {
  let address: ServerAddress
  private let socket: Int32

  init(_ answer: String?) throws {
    let (socket, port) = try Loopback.listener()
    self.socket = socket
    address = try ServerAddress("http://127.0.0.1:\(port)")
    BackgroundThread.start {
      while true {
        let peer = accept(socket, nil, nil)
        guard peer >= 0 else { return }
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        guard read(peer, &buffer, buffer.count) > 0 else { continue }
        // One that doesn't answer keeps the connection.
        guard let answer else { continue }
        let bytes = Array(answer.utf8)
        _ = Glibc.send(peer, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        close(peer)
      }
    }
  }

  deinit { shutdown(socket, Int32(SHUT_RDWR)) }

  func request(limit: Int = 1000, isSecret: Bool = false) -> HTTPRequest {
    var request = HTTPRequest(method: .get, server: address, path: "/x")
    request.answerLimit = limit
    request.hasSecretAnswer = isSecret
    return request
  }

  static func answer(_ body: String, status: String = "200 OK", more: String = "") -> String {
    "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(more)Connection: close\r\n\r\n\(body)"
  }
}

/// A program in place of vault-net: a script of the shell, which has the socket as its standard input.
struct FakeHelper: ~Copyable {
  let helper: NetHelper
  private let path: String

  init(_ script: String) throws {
    path = FileManager.default.temporaryDirectory.path + "/fake-net-" + UUID().uuidString
    try "#!/bin/sh\n\(script)\n".write(toFile: path, atomically: true, encoding: .utf8)
    chmod(path, 0o700)
    helper = NetHelper(path: path, patience: 300)
  }

  deinit { unlink(path) }

  /// What a head and a body are, as a command that writes them.
  static func says(_ kind: UInt8, length: Int, id: UInt64 = 1, body: [UInt8] = []) -> String {
    var bytes = withUnsafeBytes(of: UInt32(length).bigEndian) { Array($0) } + [kind]
    bytes += withUnsafeBytes(of: id.bigEndian) { Array($0) } + body
    return "printf '" + bytes.map { "\\" + String($0, radix: 8).leftPadded }.joined() + "' >&0"
  }
}

extension String {
  fileprivate var leftPadded: String { String(repeating: "0", count: 3 - count) + self }
}

/// What went wrong with a request; nil if it was answered.
func failure(_ helper: NetHelper, _ request: HTTPRequest) async -> HTTPError? {
  do throws(HTTPError) {
    _ = try await helper.perform(request, authorization: nil)
    return nil
  } catch { return error }
}

/// The usual helper, beside the tests.
func realHelper(patience: Int32 = 15_000) -> NetHelper {
  let named = ProcessInfo.processInfo.environment["VAULT_PROGRAMS"] ?? ""
  return NetHelper(path: named.isEmpty ? nil : named + "/vault-net", patience: patience)
}
