import Foundation
import Glibc
import Synchronization
import Testing

/// A folder and the processes of one test: several peers, each with a home of its own, on this machine's loopback.
///
/// Whatever happens, nothing is left: the processes are killed and the folder is removed when the test ends, and also
/// when the test program itself dies.
final class Bench: Sendable {
  /// Where everything of this test lies.
  let folder: String
  /// Its place among those that exist at the same time.
  let slot: Int
  /// Where its daemons listen: an address of this machine that no other bench of this time uses.
  var host: String { "127.\(64 + getpid() % 128).\(slot / 250 + 1).\(slot % 250 + 1)" }
  private let warden: Warden
  private let daemons = Mutex<[(name: String, child: Child)]>([])
  private let running = Mutex<[pid_t: Child]>([:])
  private let counter = Mutex(0)

  /// What was built with the tests, beside the running test bundle.
  static let products: String = {
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(fileURLWithPath: tests).deletingLastPathComponent().path
  }()
  /// The programs under test: those that `VAULT_PROGRAMS` names, a release for `make test`, or else those built with the tests.
  static let programs: String = {
    let named = ProcessInfo.processInfo.environment["VAULT_PROGRAMS"] ?? ""
    return named.isEmpty ? products : URL(fileURLWithPath: named).path
  }()
  static var vault: String { programs + "/vault" }
  static var vaultScan: String { programs + "/vault-scan" }
  static var vaultServer: String { programs + "/vault-server" }

  /// Benches that exist at a time: enough that waiting tests overlap, few enough that a small machine keeps up.
  private static let gate = Gate(limit: 8)

  /// Lends a bench.
  static func run(
    _ location: SourceLocation = #_sourceLocation, _ body: (Bench) async throws -> Void
  ) async throws {
    let slot = await gate.enter()
    defer { gate.leave(slot) }
    try #require(FileManager.default.isExecutableFile(atPath: vault), "no \(vault)", sourceLocation: location)
    let bench = try Bench(slot)
    do {
      try await body(bench)
    } catch {
      await bench.end(location)
      throw error
    }
    await bench.end(location)
  }

  private init(_ slot: Int) throws {
    self.slot = slot
    var template = Array((FileManager.default.temporaryDirectory.path + "/vault-test-XXXXXX").utf8CString)
    _ = try #require(mkdtemp(&template))
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    warden = try Warden(folder)
  }

  /// The environment of every program: nothing of the user's but what tells a sanitizer where to report.
  static let environment: [String: String] = {
    let path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    let usual = [
      "PATH": path, "LANG": "C.UTF-8", "SWIFT_BACKTRACE": "enable=no",
      "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent/bus",
    ]
    return usual.merging(Sanitizer.environment) { $1 }
  }()

  /// Starts a program in this bench's process group.
  func start(
    _ program: String, _ arguments: [String], environment: [String: String] = [:], folder: String? = nil,
    input: Child.Input = .nothing, descriptors: [Int32: String] = [:]
  ) throws -> Child {
    let number = counter.withLock { counter in
      counter += 1
      return counter
    }
    return try watch(
      Child(
        Child.Start(
          program: program, arguments: arguments, environment: Self.environment.merging(environment) { $1 },
          folder: folder ?? self.folder, input: input, descriptors: descriptors,
          outputPath: "\(self.folder)/\(number).out", complaintPath: "\(self.folder)/\(number).err",
          ended: { [weak self] in self?.forget($0) })))
  }

  /// Has a process killed at the end that a program under test has left behind, in a session of its own.
  func adopt(_ process: pid_t) { warden.started(process) }

  private func watch(_ child: Child) -> Child {
    running.withLock { $0[child.process] = child }
    warden.started(child.process)
    return child
  }

  private func forget(_ process: pid_t) {
    running.withLock { _ = $0.removeValue(forKey: process) }
    warden.ended(process)
  }

  /// Says that this program must run until the bench ends, unless ``expectEnd(of:)`` says otherwise.
  func expectToLive(_ name: String, _ child: Child) { daemons.withLock { $0.append((name, child)) } }

  /// The program may end from now on.
  func expectEnd(of child: Child) { daemons.withLock { $0.removeAll { $0.child === child } } }

  private func end(_ location: SourceLocation) async {
    for (name, child) in daemons.withLock({ $0 }) where !child.isRunning {
      Issue.record("\(name)'s daemon ended by itself:\n\(child.written.suffix(3000))", sourceLocation: location)
    }
    for child in running.withLock({ Array($0.values) }) {
      kill(-child.process, SIGKILL)
      _ = try? await child.end(within: 90)
    }
    await warden.end()
  }

  /// A file in the bench's folder.
  func file(_ name: String, _ bytes: [UInt8]) throws -> String {
    let path = folder + "/" + name
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    return path
  }

  /// Waits until something is so; a failure of the test if it never is. Beside all other tests on a small machine anything may
  /// take long, so the limit is only for what never comes.
  func wait(
    upTo limit: Double = 120, every milliseconds: Int = 25, for what: String,
    _ location: SourceLocation = #_sourceLocation,
    until isSo: () async throws -> Bool
  ) async throws {
    let end = Child.now() + limit
    while try await !isSo() {
      try #require(Child.now() < end, "waited \(Int(limit)) s for \(what)", sourceLocation: location)
      try await Task.sleep(for: .milliseconds(milliseconds))
    }
  }

  /// Waits until something is so, and answers at once: for a program that would go on, or give up, some seconds later. On a
  /// thread of its own, since beside all other tests a task may be served later than that.
  func atOnce(
    upTo limit: Double = 120, for what: String, _ location: SourceLocation = #_sourceLocation,
    until isSo: @escaping @Sendable () throws -> Bool, then answer: @escaping @Sendable () throws -> Void
  ) async throws {
    let isAnswered = try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Bool, any Error>) in
      Thread.detachNewThread {
        continuation.resume(
          with: Result {
            let end = Child.now() + limit
            while try !isSo() {
              guard Child.now() < end else { return false }
              usleep(3000)
            }
            try answer()
            return true
          })
      }
    }
    try #require(isAnswered, "waited \(Int(limit)) s for \(what)", sourceLocation: location)
  }
}

/// Lets a limited number in at a time, each at a place of its own; the others wait their turn without holding a thread.
final class Gate: Sendable {
  private struct State {
    var free: [Int]
    var waiting: [CheckedContinuation<Int, Never>] = []
  }

  private let state: Mutex<State>

  init(limit: Int) { state = Mutex(State(free: Array(0..<limit))) }

  /// Waits for a free place and takes it.
  func enter() async -> Int {
    await withCheckedContinuation { continuation in
      let place = state.withLock { state -> Int? in
        if let place = state.free.popLast() { return place }
        state.waiting.append(continuation)
        return nil
      }
      if let place { continuation.resume(returning: place) }
    }
  }

  func leave(_ place: Int) {
    let next = state.withLock { state -> CheckedContinuation<Int, Never>? in
      guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
      state.free.append(place)
      return nil
    }
    next?.resume(returning: place)
  }
}
