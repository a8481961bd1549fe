import Foundation
import Glibc
import HTTPRequests
import MemoryScan
import Sodium
import Testing

@testable import NetLink

/// Requests through the program itself.
@Suite(.timeLimit(.minutes(5))) struct RequestTests {
  @Test func `an answer comes as the server gave it`() async throws {
    let server = try PlainServer(
      PlainServer.answer("hello", status: "429 Too Many", more: "Retry-After: 7\r\n"))
    let answer = try await realHelper().perform(server.request(), authorization: nil)
    #expect(answer.status == 429 && answer.retryAfter == 7)
    #expect(answer.body.withBytes { $0.withUnsafeBytes { Array($0) } } == Array("hello".utf8))
  }

  @Test func `an answer with a key comes in secret memory`() async throws {
    let server = try PlainServer(PlainServer.answer("{\"key\":1}"))
    let answer = try await realHelper().perform(server.request(isSecret: true), authorization: nil)
    #expect(answer.body.isSecret)
    #expect(answer.body.withBytes { $0.withUnsafeBytes { Array($0) } } == Array("{\"key\":1}".utf8))
  }

  @Test func `an answer that is too long is none`() async throws {
    let server = try PlainServer(PlainServer.answer(String(repeating: "x", count: 1001)))
    #expect(await failure(realHelper(), server.request()) == .answerTooLong)
  }

  @Test func `a server that isn't there is named as before`() async throws {
    var request = HTTPRequest(method: .get, server: try ServerAddress("http://127.0.0.1:1"), path: "/")
    request.answerLimit = 10
    #expect(await failure(realHelper(), request) == .unreachable("Couldn't connect to server"))
  }

  @Test func `what is longer than any request is refused before it is sent, and nothing else is lost by it`()
    async throws
  {
    let helper = realHelper()
    let server = try PlainServer(PlainServer.answer("x"))
    let process = try helper.process()
    var requests = (0..<4).map { _ in server.request() }
    requests[0].body = [UInt8](repeating: 0, count: (1 << 20) + 1)
    requests[1].headers = ["A: " + String(repeating: "b", count: 48 << 10)]
    requests[2].answerLimit = 8 << 20
    requests[3].headers = ["A: \u{e4}"]
    let reasons = [
      "the body is too long", "the header is too long", "the answer limit is too long", "the header isn't one",
    ]
    for (request, reason) in zip(requests, reasons) {
      #expect(await failure(helper, request) == .unreachable("this can't be asked of a server: " + reason))
    }
    #expect(await failure(helper, server.request()) == nil)
    #expect(try helper.process() === process)
  }

  @Test func `the helper has given up what it doesn't need`() async throws {
    let helper = realHelper()
    let server = try PlainServer(PlainServer.answer("x"))
    #expect(await failure(helper, server.request()) == nil)
    let process = try helper.process().process
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    #expect(status.contains("NoNewPrivs:\t1") && status.contains("CapEff:\t0000000000000000"))
    #expect(status.contains("Seccomp:\t2"))
    let environment = try String(contentsOfFile: "/proc/\(process)/environ", encoding: .utf8)
    #expect(!environment.contains("HOME=") && !environment.contains("PATH="))
  }
}
