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

/// A program in place of vault-net: a script of the shell, which has the socket as its standard input and says a version
/// first.
struct FakeHelper: ~Copyable {
  let helper: NetHelper
  private let path: String

  init(
    _ script: String, version: String = NetVersion.text, patience: Int32 = 15_000,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) throws {
    let first = NetFrame(.ownVersion, version: version)
    let script = Self.says(first.kind.rawValue, length: first.body.count, id: 0, body: first.body) + "; " + script
    path = FileManager.default.temporaryDirectory.path + "/fake-net-" + UUID().uuidString
    // Written by another process: what this one has open for writing while another test starts a program, that program
    // has for a moment, and what is open for writing can't be started.
    let writing = "printf '#!/bin/sh\\n%s\\n' \"$1\" >\"$0\" && chmod 700 \"$0\""
    let process = try Subprocess.start("/bin/sh", ["sh", "-c", writing, path, script], standard: [])
    var status: Int32 = 0
    try #require(waitpid(process, &status, 0) == process && status == 0)
    helper = NetHelper(path: path, patience: patience, now: now)
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
func realHelper(patience: Int32 = 15_000, watched: [String] = NetHelper.surroundings) -> NetHelper {
  NetHelper(path: namedProgram, patience: patience, watched: watched)
}

/// Where it lies.
func netProgram() throws -> String {
  if let namedProgram { return namedProgram }
  let candidates = Subprocess.candidates(for: "vault-net", beside: try #require(Subprocess.ownPath()))
  return try #require(candidates.first { access($0, X_OK) == 0 })
}

private var namedProgram: String? {
  let named = ProcessInfo.processInfo.environment["VAULT_PROGRAMS"] ?? ""
  return named.isEmpty ? nil : named + "/vault-net"
}

/// What the kernel says about a process; nil when it is gone, whether or not anybody has asked how.
func status(_ process: pid_t) -> String? {
  let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
  return status.flatMap { $0.contains("State:\tZ") ? nil : $0 }
}
