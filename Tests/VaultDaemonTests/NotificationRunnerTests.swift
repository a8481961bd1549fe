import Foundation
import Glibc
import Synchronization
import Testing

@testable import SecretVault
@testable import VaultDaemon

@Suite("The notification command")
struct NotificationRunnerTests {
  // As the program does before anything else.
  init() { signal(SIGPIPE, SIG_IGN) }

  private final class Complaints: Sendable {
    let lines = Mutex<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
  }

  private static let line: @Sendable (VaultEnvironment.Notification) -> String = { $0.description ?? "" }

  private let event = VaultEnvironment.Notification(
    event: "share-received", peer: "Bob", secret: "4be1", description: "a $(rm -rf /) \"b\"", detail: nil, at: 0)

  @Test func aRealShellGetsTheEventOnItsStandardInput() throws {
    let folder = try TestFolder()
    defer { folder.remove() }
    let complaints = Complaints()
    let runner = NotificationRunner(timeLimit: 120_000, line: Self.line) { complaints.add($0) }
    runner.run("cat > \(folder.path)/event", event)
    #expect(runner.finish(within: 60_000))
    #expect(folder.contents("event") == Self.line(event) + "\n")
    #expect(complaints.all.isEmpty)
  }

  @Test func theCommandInheritsNoDescriptorOfOurs() throws {
    let folder = try TestFolder()
    defer { folder.remove() }
    let ours = open("/dev/null", O_RDONLY)
    defer { close(ours) }
    let runner = NotificationRunner(timeLimit: 120_000, line: Self.line) { _ in }
    runner.run("for f in /proc/$$/fd/*; do echo ${f##*/}; done > \(folder.path)/list", event)
    #expect(runner.finish(within: 60_000))
    let numbers = folder.contents("list").split(separator: "\n").compactMap { Int32($0) }
    #expect(numbers.contains(0) && numbers.contains(2))
    #expect(!numbers.contains(ours))
  }

  @Test func aFailureIsReportedAndNothingElseHappens() {
    let complaints = Complaints()
    let runner = NotificationRunner(timeLimit: 120_000, line: Self.line) { complaints.add($0) }
    runner.run("exit 3", event)
    #expect(runner.finish(within: 60_000))
    #expect(complaints.all == ["notification command ended with status 3"])
  }

  @Test func aCommandThatTakesTooLongIsKilledWithItsChildren() async throws {
    let folder = try TestFolder()
    defer { folder.remove() }
    let complaints = Complaints()
    // Enough for a shell to begin, also where many others do.
    let runner = NotificationRunner(timeLimit: 20_000, line: Self.line) { complaints.add($0) }
    runner.run("echo $$ > \(folder.path)/pid; sleep 1000 | cat", event)
    // Other tests need this one's thread meanwhile.
    let isFinished = await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: runner.finish(within: 180_000)) }
    }
    #expect(isFinished)
    #expect(complaints.all.count == 1)
    let group = Int32(folder.contents("pid").split(separator: "\n").first ?? "") ?? 0
    #expect(group > 1)
    // The group is empty as soon as its last process is reaped by whoever inherited it.
    var isGone = false
    for _ in 0..<6000 where !isGone {
      isGone = kill(-group, 0) != 0
      if !isGone { usleep(10_000) }
    }
    #expect(isGone)
  }

  @Test func atMostFourRunAtATimeAndAllAreRun() throws {
    let folder = try TestFolder()
    defer { folder.remove() }
    let runner = NotificationRunner(timeLimit: 120_000, line: Self.line) { _ in }
    for _ in 0..<12 {
      let log = "\(folder.path)/log"
      runner.run("echo start >> \(log); \(held("\(folder.path)/go")); echo end >> \(log)", event)
    }
    func lines() -> [Substring] { folder.contents("log").split(separator: "\n") }
    for _ in 0..<6000 where lines().count < NotificationRunner.concurrencyLimit { usleep(10_000) }
    try folder.write("", to: "go")
    #expect(runner.finish(within: 120_000))
    var (running, most, ended) = (0, 0, 0)
    for line in lines() {
      running += line == "start" ? 1 : -1
      ended += line == "end" ? 1 : 0
      most = max(most, running)
    }
    #expect(ended == 12)
    #expect(most == NotificationRunner.concurrencyLimit)
  }

  @Test func aFloodIsDroppedNotQueuedForEver() throws {
    let folder = try TestFolder()
    defer { folder.remove() }
    let complaints = Complaints()
    let runner = NotificationRunner(timeLimit: 120_000, line: Self.line) { complaints.add($0) }
    for _ in 0..<(NotificationRunner.concurrencyLimit + NotificationRunner.queueLimit + 10) {
      runner.run(held("\(folder.path)/go"), event)
    }
    #expect(complaints.all.count == 10)
    #expect(complaints.all.allSatisfy { $0.hasPrefix("notification dropped") })
    try folder.write("", to: "go")
    #expect(runner.finish(within: 120_000))
  }

  /// A command that ends once there is this file.
  private func held(_ file: String) -> String { "while [ ! -e \(file) ]; do sleep 0.05; done" }

  @Test func aQuestionIsToldThoughAFloodOfOtherEventsWaits() throws {
    let folder = try TestFolder()
    defer { folder.remove() }
    let complaints = Complaints()
    let runner = NotificationRunner(timeLimit: 120_000, line: Self.line) { complaints.add($0) }
    for number in 0..<(NotificationRunner.concurrencyLimit + NotificationRunner.queueLimit + 10) {
      let gate = number < NotificationRunner.concurrencyLimit ? "first" : "others"
      runner.run("\(held("\(folder.path)/\(gate)")); echo \(gate) >> \(folder.path)/log", event)
    }
    #expect(complaints.all.count == 10)
    for question in ["release-requested", "deposit-requested"] {
      let asked = VaultEnvironment.Notification(
        event: question, peer: "Bob", secret: "4be1", description: nil, detail: nil, at: 0)
      runner.run("echo \(question) >> \(folder.path)/log", asked)
    }
    #expect(complaints.all.count == 10)
    // Those who run already end; the others that waited could do so only later.
    try folder.write("", to: "first")
    var ended: Set<Substring> = []
    for _ in 0..<6000 where ended.count < 3 {
      usleep(10_000)
      ended = Set(folder.contents("log").split(separator: "\n"))
    }
    #expect(ended == ["first", "release-requested", "deposit-requested"])
    try folder.write("", to: "others")
    #expect(runner.finish(within: 120_000))
    let lines = folder.contents("log").split(separator: "\n")
    #expect(lines.count == NotificationRunner.concurrencyLimit + NotificationRunner.queueLimit + 2)
  }

  @Test func aCommandThatDoesNotReadIsNoProblem() {
    let complaints = Complaints()
    let runner = NotificationRunner(timeLimit: 120_000, line: Self.line) { complaints.add($0) }
    let long = VaultEnvironment.Notification(
      event: "refused", peer: nil, secret: nil, description: String(repeating: "x", count: 500_000), detail: nil, at: 0)
    runner.run("exec true", long)
    #expect(runner.finish(within: 60_000))
    #expect(complaints.all.isEmpty)
  }
}
