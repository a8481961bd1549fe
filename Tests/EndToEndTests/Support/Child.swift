import Foundation
import Glibc
import Testing

/// A running program. Its output goes to files, so that it never waits for a reader.
final class Child: Sendable {
  /// What standard input is.
  enum Input: Sendable {
    /// Empty.
    case nothing
    /// A file.
    case file(String)
    /// A pipe; ``Child/pipe`` is the writing end.
    case pipe
  }

  /// How a program is started.
  struct Start: Sendable {
    var program: String
    var arguments: [String]
    var environment: [String: String]
    var folder: String
    var input = Input.nothing
    /// Files to be open for reading under these numbers.
    var descriptors: [Int32: String] = [:]
    /// Where both outputs are kept.
    var outputPath: String
    var complaintPath: String
    /// Is told when the process has ended and its number may mean another one.
    var ended: @Sendable (pid_t) -> Void = { _ in }
  }

  /// Its number, and that of its process group and session: no program under test shares this one's terminal.
  let process: pid_t
  /// The writing end of standard input, or -1.
  let pipe: Int32
  private let start: Start
  private let began: Double
  /// The connections of this machine when it began, where they are needed to tell its own by.
  private let formerConnections: Set<String>

  /// Whether tests see what files and connections the programs have: these let only root look.
  static let seesDescriptors = geteuid() == 0

  init(_ start: Start) throws {
    self.start = start
    began = Self.now()
    formerConnections = Self.seesDescriptors ? [] : Set(Self.connections().map(\.socket))
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    var ends: [Int32] = [-1, -1]
    switch start.input {
    case .nothing: posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    case .file(let path): posix_spawn_file_actions_addopen(&actions, 0, path, O_RDONLY, 0)
    case .pipe:
      ends = try #require(GNU.pipe())
      posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
    }
    for (number, path) in [(Int32(1), start.outputPath), (2, start.complaintPath)] {
      posix_spawn_file_actions_addopen(&actions, number, path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    }
    try #require(GNU.closeFrom(&actions, 3) && GNU.changeFolder(&actions, start.folder))
    for (number, path) in start.descriptors {
      posix_spawn_file_actions_addopen(&actions, number, path, O_RDONLY, 0)
    }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    Self.setUsualSignals(&attributes, GNU.spawnInNewSession)
    process = try Self.spawn(start.program, start.arguments, start.environment, &actions, &attributes)
    if ends[0] >= 0 { close(ends[0]) }
    pipe = ends[1]
  }

  /// No signal is blocked or ignored in the child.
  static func setUsualSignals(_ attributes: inout posix_spawnattr_t, _ otherFlags: Int16) {
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    var usual = sigset_t()
    sigemptyset(&usual)
    for signal in [SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXFSZ] { sigaddset(&usual, signal) }
    posix_spawnattr_setsigdefault(&attributes, &usual)
    posix_spawnattr_setflags(&attributes, otherFlags | Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
  }

  static func spawn(
    _ program: String, _ arguments: [String], _ environment: [String: String],
    _ actions: inout posix_spawn_file_actions_t, _ attributes: inout posix_spawnattr_t
  ) throws -> pid_t {
    var argv: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
    var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { (argv + variables).forEach { free($0) } }
    var process: pid_t = 0
    var failure = posix_spawn(&process, program, &actions, &attributes, &argv, &variables)
    // A program that a test has just written: another that was being started in that moment has the file open until it runs.
    for _ in 0..<600 where failure == ETXTBSY {
      usleep(100_000)
      failure = posix_spawn(&process, program, &actions, &attributes, &argv, &variables)
    }
    try #require(failure == 0, "cannot start \(program): \(String(cString: strerror(failure)))")
    return process
  }

  /// Sends a signal.
  func signal(_ number: Int32) { kill(process, number) }

  /// Ends standard input.
  func closeInput() { if pipe >= 0 { close(pipe) } }

  /// Waits for the end. What takes longer from now on than it may is killed, and reported as a failure of the test.
  func end(within limit: Double, _ location: SourceLocation = #_sourceLocation) async throws -> Outcome {
    var status: Int32 = 0
    var wait: UInt64 = 2
    let called = Self.now()
    while true {
      let got = waitpid(process, &status, WNOHANG)
      if got == process { break }
      try #require(got == 0 || errno == EINTR, "waitpid: \(String(cString: strerror(errno)))", sourceLocation: location)
      if Self.now() - called > limit {
        kill(process, SIGKILL)
        while waitpid(process, &status, 0) < 0 && errno == EINTR {}
        start.ended(process)
        let outcome = try outcome(status)
        Issue.record("took longer than \(Int(limit)) s: \(outcome)", sourceLocation: location)
        return outcome
      }
      // A cancelled test must still reap its children: sleep errors don't matter.
      try? await Task.sleep(for: .milliseconds(wait))
      wait = min(wait + 1, 20)
    }
    start.ended(process)
    let outcome = try outcome(status)
    if outcome.crashed { Issue.record("crashed: \(outcome)", sourceLocation: location) }
    return outcome
  }

  /// Waits for the end of a program that is killed on purpose, and gives its status as the system has it.
  func endByCrash(within limit: Double, _ location: SourceLocation = #_sourceLocation) async throws -> Int32 {
    var status: Int32 = 0
    let called = Self.now()
    while waitpid(process, &status, WNOHANG) != process {
      try #require(Self.now() - called < limit, "it goes on", sourceLocation: location)
      try await Task.sleep(for: .milliseconds(10))
    }
    start.ended(process)
    return status
  }

  /// Whether it has opened its vault: whoever has locks a part of the database.
  var hasOpenVault: Bool {
    Self.contents("/proc/locks").contains { $0.split(separator: " ").dropFirst(4).first == "\(process)" }
  }

  /// Whether it is connected to a port of IPv4, itself or by a helper, or has ended.
  func isConnected(to port: Int) -> Bool {
    guard isRunning else { return true }
    let sockets = Set(Self.connections().filter { $0.port == port }.map(\.socket))
    guard Self.seesDescriptors else { return !sockets.isSubset(of: formerConnections) }
    return openFiles.contains { sockets.contains($0) }
  }

  /// Connections of IPv4 on this machine, by the names of their sockets, with the ports at the other ends.
  private static func connections() -> [(socket: String, port: Int)] {
    contents("/proc/net/tcp").compactMap { line in
      let fields = line.split(separator: " ")
      guard fields.count > 9, fields[3] == "01", let port = Int(fields[2].suffix(4), radix: 16) else { return nil }
      return ("socket:[\(fields[9])]", port)
    }
  }

  /// The lines of a table of the system: Foundation reads no more than a page of a file that doesn't say how long it is.
  private static func contents(_ path: String) -> [Substring] {
    var table: [UInt8] = []
    let file = open(path, O_RDONLY | O_CLOEXEC)
    defer { close(file) }
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = read(file, &buffer, buffer.count), count > 0 { table += buffer.prefix(count) }
    return String(decoding: table, as: UTF8.self).split(separator: "\n")
  }

  /// What its descriptors stand for.
  private var openFiles: [String] {
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
    let helpers = threads.flatMap { thread -> [String] in
      let children = try? String(contentsOfFile: "/proc/\(process)/task/\(thread)/children", encoding: .utf8)
      return children?.split(separator: " ").map(String.init) ?? []
    }
    return (["\(process)"] + helpers).flatMap { process -> [String] in
      let descriptors = "/proc/\(process)/fd"
      let names = (try? FileManager.default.contentsOfDirectory(atPath: descriptors)) ?? []
      return names.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(descriptors)/\($0)") }
    }
  }

  /// Whether it is `vault` by now, and has come so far that a signal ends it in its own way: from its first moments on such
  /// signals wait for a thread of its own. Before, they would kill it, or a shell that is still to become it. While it starts a
  /// thread all signals wait, SIGUSR1 too, for which it has no use: that is no sign, since libraries start some before it begins.
  func awaits(_ signal: Int32) -> Bool {
    let status = status
    return status.first == "Name:\tvault" && Self.has(signal, in: "SigBlk", status)
      && !Self.has(SIGUSR1, in: "SigBlk", status)
  }

  /// Whether the system throws a signal to it away at once, so that nothing can come of it later.
  func ignores(_ signal: Int32) -> Bool {
    let status = status
    return Self.has(signal, in: "SigIgn", status) && !Self.has(signal, in: "SigBlk", status)
  }

  private static func has(_ signal: Int32, in mask: String, _ status: [Substring]) -> Bool {
    guard let line = status.first(where: { $0.hasPrefix(mask + ":\t") }),
      let bits = UInt64(line.dropFirst(mask.count + 2), radix: 16)
    else { return false }
    return bits >> UInt64(signal - 1) & 1 == 1
  }

  private var status: [Substring] {
    ((try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? "").split(separator: "\n")
  }

  /// Whether each of its threads waits for something.
  var isAsleep: Bool {
    let threads = "/proc/\(process)/task"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: threads)) ?? []
    return !names.isEmpty
      && names.allSatisfy { name in
        let facts = (try? String(contentsOfFile: "\(threads)/\(name)/stat", encoding: .utf8)) ?? ""
        return facts.split(separator: ")").last?.hasPrefix(" S ") == true
      }
  }

  /// Whether it has read all that is in its standard input so far.
  var hasReadInput: Bool {
    var count: Int32 = 1
    return ioctl(pipe, UInt(FIONREAD), &count) == 0 && count == 0
  }

  /// Whether it has not ended.
  var isRunning: Bool {
    var facts = siginfo_t()
    return waitid(P_PID, id_t(process), &facts, WEXITED | WNOHANG | WNOWAIT) == 0 && facts.si_signo == 0
  }

  /// What it has written to standard output and standard error so far.
  var written: String {
    [start.outputPath, start.complaintPath].map { (try? String(contentsOfFile: $0, encoding: .utf8)) ?? "" }.joined()
  }

  private func outcome(_ status: Int32) throws -> Outcome {
    let signal = status & 0x7F
    return Outcome(
      command: ([start.program.components(separatedBy: "/").last ?? ""] + start.arguments).joined(separator: " "),
      status: signal == 0 ? (status >> 8) & 0xFF : 128 + signal,
      bytes: [UInt8](try Data(contentsOf: URL(fileURLWithPath: start.outputPath))),
      complaint: String(decoding: try Data(contentsOf: URL(fileURLWithPath: start.complaintPath)), as: UTF8.self),
      seconds: Self.now() - began)
  }

  /// Seconds of a clock that never jumps.
  static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
