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

  private var pending: ArraySlice<Recipient>
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
    pending = recipients[...]
    self.began = began
    self.ask = ask
  }

  /// The next answer, or nil when everybody has answered or failed.
  func next() async -> Answer? {
    while true {
      while running.count < Self.concurrency, let recipient = pending.popFirst() { start(recipient) }
      if !answers.isEmpty { return answers.removeFirst() }
      if running.isEmpty { return nil }
      await withCheckedContinuation { waiter = $0 }
    }
  }

  /// Peers that were not asked, or had not answered when it ended.
  func stop() -> [Answer] {
    for task in running.values { task.cancel() }
    pending = []
    let left = answers
    answers = []
    isStopped = true
    return left
  }

  private var isStopped = false

  private func start(_ recipient: Recipient) {
    let number = nextTask
    nextTask += 1
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
    waiter?.resume()
    waiter = nil
  }
}
