import Foundation
import HTTPRequests
import Synchronization
import Testing

@testable import NetLink

/// How often a helper is started that ends again and again.
@Suite(.timeLimit(.minutes(5))) struct RestartTests {
  /// A time that passes when the test says so.
  private final class Time: Sendable {
    private let instant = Mutex(ContinuousClock.now)
    var now: ContinuousClock.Instant { instant.withLock { $0 } }
    func pass(_ duration: Duration) { instant.withLock { $0 += duration } }
  }

  private let time = Time()
  private let log = FileManager.default.temporaryDirectory.path + "/fake-net-starts-" + UUID().uuidString

  private var starts: Int { get throws { try String(contentsOfFile: log, encoding: .utf8).count } }

  /// Counts its starts, which it does before it is asked.
  private func fake(_ script: String) throws -> FakeHelper {
    try FakeHelper("printf x >>'\(log)'; " + script, now: { [time] in time.now })
  }

  @Test func `one that ends without an answer is started twice at once, then after ever longer pauses`() async throws {
    defer { unlink(log) }
    let fake = try fake("exit 1")
    let server = try PlainServer(nil)
    func ask() async throws -> Int {
      for _ in 0..<3 {
        let error = await failure(fake.helper, server.request())
        #expect(error == .unreachable("the helper vault-net ended; try again"))
      }
      return try starts
    }
    #expect(try await ask() == 2)
    for (place, pause) in [1, 2, 4, 8, 16, 30, 30].enumerated() {
      time.pass(.seconds(pause) - .milliseconds(1))
      #expect(try await ask() == 2 + place)
      time.pass(.milliseconds(1))
      #expect(try await ask() == 3 + place)
    }
  }

  @Test func `one that has answered is started anew at once`() async throws {
    defer { unlink(log) }
    let answer = FakeHelper.says(0x81, length: 7, body: [0, 200, 0, 0, 0, 0, 0])
    let fake = try fake(HelperFaultTests.waits + answer + "; exit 1")
    let server = try PlainServer(nil)
    for count in 1...5 {
      let process = try fake.helper.process()
      #expect(await failure(fake.helper, server.request()) == nil)
      #expect(try starts == count)
      while !process.hasEnded { try await Task.sleep(for: .milliseconds(5)) }
    }
  }
}
