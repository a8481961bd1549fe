import ChatServers
import Dispatch
import Foundation
import Synchronization
import TestTime
import Testing

@testable import ShareServer

/// How connections to Redis are found, kept and shared.
@Suite struct RedisLaneTests {
  private func locator(_ url: String) throws -> RedisLocator {
    RedisLocator(try RedisPlace(url), password: nil, sentinelPassword: nil, connected: {})
  }

  /// What tells one Redis from another.
  private func name(_ lane: RedisLane) async throws -> String {
    try await lane.run(mayRepeat: true) { connection in
      try RedisFitness.line("tcp_port", of: "server", connection)
    }
  }

  @Test func `a connection that was made while the primary changed is made anew`() async throws {
    let old = try await RedisProcess.start(port: try Loopback.freePort())
    let new = try await RedisProcess.start(port: try Loopback.freePort())
    let sentinel = try FakeSentinel(primary: old.port)
    let locator = try locator("redis+sentinel://127.0.0.1:\(sentinel.port)/shares")
    let isFirst = Mutex(true)
    let lane = try RedisLane(threads: 1, locator, failed: {}) { _ in
      guard isFirst.withLock({ first in (first, first = false).0 }) else { return }
      // Between connecting and the first work: another thread hears of it.
      sentinel.name(new.port)
      locator.lookAgain()
    }
    defer { lane.close() }
    #expect(try await name(lane) == "\(old.port)")
    #expect(try await name(lane) == "\(new.port)")
  }

  @Test func `a sentinel that names a server that is no primary is asked last from then on`() async throws {
    let primary = try await RedisProcess.start(port: try Loopback.freePort())
    let replica = try await RedisProcess.start(
      port: try Loopback.freePort(), ["--replicaof", "127.0.0.1 \(primary.port)"])
    let (stale, right) = (try FakeSentinel(primary: replica.port), try FakeSentinel(primary: primary.port))
    let locator = try locator("redis+sentinel://\(stale.address),\(right.address)/shares")
    try await eventually("the primary is found", within: 120) {
      try await offTheCooperativePool {
        do {
          _ = try locator.connect()
          return true
        } catch is RedisFault { return false }
      }
    }
  }

  @Test func `a sentinel is doubted when what it names has no replicas`() async throws {
    let (lonely, followed) = (
      try await RedisProcess.start(port: try Loopback.freePort()),
      try await RedisProcess.start(port: try Loopback.freePort())
    )
    let replica = try await RedisProcess.start(
      port: try Loopback.freePort(), ["--replicaof", "127.0.0.1 \(followed.port)"])
    let (stale, right) = (try FakeSentinel(primary: lonely.port), try FakeSentinel(primary: followed.port))
    let lane = try RedisLane(
      threads: 1, try locator("redis+sentinel://\(stale.address),\(right.address)/shares"), failed: {}
    ) { try $0.awaitReplicas(1, within: 100) }
    defer { lane.close() }
    try await eventually("the one with a replica is found", within: 120) {
      do { return try await name(lane) == "\(followed.port)" } catch is RedisFault { return false }
    }
    withExtendedLifetime(replica) {}
  }

  @Test func `what has waited for too long is refused`() async throws {
    let redis = try await RedisProcess.start()
    let clock = TestClock()
    let lane = try RedisLane(
      threads: 1, try locator("redis+unix://\(redis.socket)"), present: clock.instants, failed: {}
    ) { _ in }
    defer { lane.close() }
    let (started, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    async let long: Void = lane.run(mayRepeat: false) { _ in
      started.signal()
      mayEnd.wait()
    }
    try await offTheCooperativePool { started.wait() }
    let late = Task { try await lane.run(mayRepeat: true) { _ in () } }
    try await eventually("it waits") { lane.waiting == 1 }
    clock.advance(by: .seconds(4))
    mayEnd.signal()
    await #expect(throws: Refusal.busy) { try await late.value }
    try await long
    try await lane.run(mayRepeat: true) { _ in () }
  }

  private final class Probe: Sendable {
    let end: @Sendable () -> Void
    init(_ end: @escaping @Sendable () -> Void) { self.end = end }
    deinit { end() }
  }

  @Test func `what was done leaves nothing behind while others wait`() async throws {
    let redis = try await RedisProcess.start()
    let lane = try RedisLane(threads: 1, try locator("redis+unix://\(redis.socket)"), failed: {}) { _ in }
    defer { lane.close() }
    let isGone = Mutex(false)
    let (begun, begin, check) = (
      DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
    )
    func work(_ body: @escaping @Sendable () -> Void) -> Task<Void, any Error> {
      Task { try await lane.run(mayRepeat: false) { _ in body() } }
    }
    func wait(for count: Int) async throws { try await eventually("\(count) wait") { lane.waiting == count } }
    let first = work {
      begun.signal()
      begin.wait()
    }
    try await offTheCooperativePool { begun.wait() }
    let probed = Task {
      let probe = Probe { isGone.withLock { $0 = true } }
      try await lane.run(mayRepeat: false) { _ in withExtendedLifetime(probe) {} }
    }
    try await wait(for: 1)
    let third = work { check.wait() }
    try await wait(for: 2)
    let last = work {}
    try await wait(for: 3)
    begin.signal()
    try await probed.value
    // The third is being done and the last waits.
    try await eventually("its memory is given back", within: 120) { isGone.withLock { $0 } }
    check.signal()
    try await first.value
    for task in [third, last] { _ = await task.result }
  }

  @Test(arguments: [
    ("READONLY You can't write against a read only replica. script: x", true, false),
    ("ERR Error running script (call to f_1): @user_script:3: @user_script: 3: -READONLY You can't write", true, false),
    ("OOM command not allowed when used memory > 'maxmemory'. script: x", false, true),
    ("ERR Error running script (call to f_1): @user_script:9: @user_script: 9: -OOM command not allowed", false, true),
    ("ERR something else about READONLY and OOM", false, false),
  ])
  func `an error is understood also as a script of an older Redis gives it`(
    _ words: String, _ isNoPrimary: Bool, _ isFull: Bool
  ) {
    let fault = RedisFault.answered(words)
    #expect(fault.losesConnection == isNoPrimary && fault.isFull == isFull)
  }

  @Test func `time is told from what Redis said last and what has passed since`() {
    let clock = TestClock()
    let time = RedisTime(fixed: nil, present: clock.instants)
    time.saw(5000)
    time.saw(4000)
    clock.advance(by: .milliseconds(30))
    #expect(time.now == 5000 && time.least == 5030)
  }

  @Test(arguments: [
    ("one\n", "one"), ("with blanks in it\r\nmore", "with blanks in it"), ("no end", "no end"), ("", nil), ("\n", nil),
    ("tab\there\n", nil), ("gr\u{fc}n\n", nil),
    (String(repeating: "x", count: 1024) + "\n", String(repeating: "x", count: 1024)),
    (String(repeating: "x", count: 1025) + "\n", nil),
  ])
  func `a password is the whole first line of a file`(_ text: String, _ password: String?) throws {
    let folder = try Folder()
    try text.write(toFile: folder.path + "/password", atomically: true, encoding: .utf8)
    let found = try SecretLine.read(folder.path + "/password")
    switch consume found {
    case .some(let secret): #expect(secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } == password)
    case .none: #expect(password == nil)
    }
  }
}
