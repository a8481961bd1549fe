import Foundation
import Glibc
import HTTPRequests
import Testing
import Concurrency

@testable import NetLink

/// When vault-net ends, and when it doesn't.
@Suite(.timeLimit(.minutes(5))) struct EndingTests {
  @Test func `it ends with who has started it`() async throws {
    var helper: NetHelper? = realHelper()
    let server = try PlainServer(PlainServer.answer("x"))
    let process = try #require(try helper?.process().process)
    if let helper { #expect(await failure(helper, server.request()) == nil) }
    helper = nil
    while kill(process, 0) == 0 { try await Task.sleep(for: .milliseconds(5)) }
  }

  @Test func `it is killed with who has started it, though its socket stays open`() async throws {
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
    defer { for end in ends { close(end) } }
    // A shell is its parent, and says its number. Nobody but this process closes the other end.
    let script = "exec 3<&0; \"$0\" <&3 3<&- >/dev/null 2>&1 & echo $! >&3; exec sleep 600"
    let parent = try Subprocess.start("/bin/sh", ["sh", "-c", script, netProgram()], standard: [ends[1]])
    defer {
      kill(parent, SIGKILL)
      waitpid(parent, nil, 0)
    }
    var line = [UInt8](repeating: 0, count: 20)
    let count = read(ends[0], &line, line.count)
    let process = try #require(pid_t(String(decoding: line.prefix(max(count - 1, 0)), as: UTF8.self)))
    defer { kill(process, SIGKILL) }
    while try !#require(status(process)).contains("Seccomp:\t2") { try await Task.sleep(for: .milliseconds(5)) }
    kill(parent, SIGKILL)
    while status(process) != nil { try await Task.sleep(for: .milliseconds(5)) }
  }

  @Test func `it outlives the thread that needed it first`() async throws {
    let helper = realHelper()
    let thread = PendingResult<String, Never>()
    BackgroundThread.start {
      _ = try? helper.process()
      thread.finish(.success((try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")) ?? ""))
    }
    let name = await thread.value()
    try #require(!name.isEmpty)
    while FileManager.default.fileExists(atPath: "/proc/" + name) { try await Task.sleep(for: .milliseconds(5)) }
    let first = try helper.process()
    let server = try PlainServer(PlainServer.answer("x"))
    #expect(await failure(helper, server.request()) == nil)
    #expect(try helper.process() === first && !first.hasEnded)
  }
}
