import PeerAuth
import VaultProtocol

/// Asks peers for their shares, up to 32 at a time, and hands out answers as they come. Nobody is asked before somebody
/// wants an answer, and a peer that is slow or dead holds up nobody.
actor HolderSearch {
  static let concurrency = 32

  /// What one peer said.
  enum Answer: Sendable {
    case released(ReleasedShare)
    case failed(peer: String, LinkFailure)
  }

  /// How often a peer is asked again after its connection was cut.
  static let repeatLimit = 3

  private let recipients: [Recipient]
  private var pending: ArraySlice<Recipient>
  /// Slow ones, asked one by one and only when there is nobody else.
  private var last: ArraySlice<Recipient> = []
  private var repeats: [String: Int] = [:]
  private var slow: Set<String> = []
  private var running: [Int: Task<Void, Never>] = [:]
  private var nextTask = 0
  private var answers: [Answer] = []
  private var waiter: CheckedContinuation<Void, Never>?
  private let ask: @Sendable (Recipient) async -> Answer
  private let began: @Sendable (Recipient) -> Void

  init(
    _ recipients: [Recipient], began: @escaping @Sendable (Recipient) -> Void,
    ask: @escaping @Sendable (Recipient) async -> Answer
  ) {
    self.recipients = recipients
    pending = recipients[...]
    self.began = began
    self.ask = ask
  }

  /// Names of those who were asked, in the order in which they were.
  private(set) var asked: [String] = []

  /// The next answer, or nil when everybody has answered or failed, or when the task that waits is cancelled.
  func next() async -> Answer? {
    while !Task.isCancelled {
      while running.count < Self.concurrency, let recipient = pending.popFirst() { start(recipient) }
      if !answers.isEmpty { return answers.removeFirst() }
      if running.isEmpty {
        guard let recipient = last.popFirst() else { return nil }
        start(recipient)
      }
      await withTaskCancellationHandler {
        await withCheckedContinuation { wait($0) }
      } onCancel: {
        Task { await wake() }
      }
    }
    return nil
  }

  private func wait(_ continuation: CheckedContinuation<Void, Never>) {
    // Cancelled just now: the wake-up may have come before there was anybody to wake.
    if Task.isCancelled { continuation.resume() } else { waiter = continuation }
  }

  private func wake() {
    waiter?.resume()
    waiter = nil
  }

  /// Puts a slow peer behind all others, for good. False if it was there before.
  func later(_ peer: String) -> Bool {
    guard slow.insert(peer).inserted else { return false }
    return queue(peer)
  }

  /// Asks a peer once more that has been of use since its connection was last cut.
  func afterProgress(_ peer: String) { _ = queue(peer) }

  /// Whether somebody is left who has not turned out to be slow.
  var hasOthers: Bool { !answers.isEmpty || !running.isEmpty || !pending.isEmpty }

  /// Asks a peer once more whose connection was cut. False when it has been asked again often enough.
  func again(_ peer: String) -> Bool {
    guard repeats[peer, default: 0] < Self.repeatLimit else { return false }
    repeats[peer, default: 0] += 1
    return queue(peer)
  }

  private func queue(_ peer: String) -> Bool {
    guard let recipient = recipients.first(where: { $0.name == peer }) else { return false }
    if slow.contains(peer) { last.append(recipient) } else { pending.append(recipient) }
    return true
  }

  /// Answers that came when nobody wanted them any more; whoever was still being asked is let go.
  func stop() -> [Answer] {
    for task in running.values { task.cancel() }
    pending = []
    last = []
    let left = answers
    answers = []
    isStopped = true
    return left
  }

  private var isStopped = false

  private func start(_ recipient: Recipient) {
    let number = nextTask
    nextTask += 1
    asked.append(recipient.name)
    began(recipient)
    running[number] = Task {
      let answer = await ask(recipient)
      await self.took(answer, of: number)
    }
  }

  private func took(_ answer: Answer, of number: Int) async {
    running[number] = nil
    if isStopped {
      // Nobody wants it any more.
      if case .released(let share) = answer { await share.pieces.close() }
    } else {
      answers.append(answer)
    }
    wake()
  }
}
