import VaultStore

/// Asks peers for their shares, up to 32 at a time, and hands out answers as they come.
///
/// Nobody is asked before an answer is wanted, and at first no more than are wanted: every share that is released without need costs two
/// devices work, and tells its holder of a recovery. But slow or dead peers hold up nobody: when answers are late, all others are asked;
/// and the more have nothing to give, the more are asked at a time, as most of a large circle may hold no share.
actor HolderSearch {
  static let concurrency = 32

  enum Answer: Sendable {
    case released(ReleasedShare)
    case failed(AskedHolder, LinkFailure)
  }

  /// How often a peer is asked again after its connection was cut.
  static let repeatLimit = 3

  /// What will be wanted of those who are asked.
  nonisolated let due: DuePieces
  private var peers: [PeerRecord]
  private var pending: ArraySlice<PeerRecord>
  /// Slow ones, asked one by one when there is nobody else.
  private var last: ArraySlice<PeerRecord> = []
  private var repeats: [AskedHolder: Int] = [:]
  private var slow: Set<AskedHolder> = []
  private var running: [Int: Task<Void, Never>] = [:]
  private var nextTask = 0
  private var answers: [Answer] = []
  /// Those that had nothing to give.
  private var failures = 0
  private var waiter: CheckedContinuation<Void, Never>?
  private let ask: @Sendable (PeerRecord) async -> Answer
  /// Holders of whom others have said where they are.
  private let learned: @Sendable () -> [PeerRecord]
  private let began: @Sendable (PeerRecord) -> Void
  private let environment: VaultEnvironment
  /// The current wait for an answer, and whether it is so long that everybody is asked.
  private var waitNumber = 0
  private var isLate = false

  init(
    _ peers: [PeerRecord], due: DuePieces, environment: VaultEnvironment,
    began: @escaping @Sendable (PeerRecord) -> Void,
    learned: @escaping @Sendable () -> [PeerRecord], ask: @escaping @Sendable (PeerRecord) async -> Answer
  ) {
    self.environment = environment
    self.peers = peers
    self.due = due
    pending = peers[...]
    self.began = began
    self.ask = ask
    self.learned = learned
  }

  /// In the order in which they were asked.
  private(set) var asked: [AskedHolder] = []

  /// The next answer, or nil when everybody has answered or failed, or when the task that waits is cancelled.
  /// `wanted` counts the answers that are still needed, this one included.
  func next(wanted: Int) async -> Answer? {
    waitNumber += 1
    isLate = false
    var lateness: Task<Void, Never>?
    defer { lateness?.cancel() }
    while !Task.isCancelled {
      let limit = isLate ? Self.concurrency : min(Self.concurrency, wanted - answers.count + failures / 2)
      while running.count < limit, let peer = pending.popFirst() { start(peer) }
      if !answers.isEmpty { return answers.removeFirst() }
      if running.isEmpty {
        guard let peer = last.popFirst() else { return nil }
        start(peer)
      }
      if !isLate, lateness == nil, !pending.isEmpty { lateness = notice(waitNumber) }
      await withTaskCancellationHandler {
        await withCheckedContinuation { sleep($0) }
      } onCancel: {
        Task { await wake() }
      }
    }
    return nil
  }

  /// Notes when a wait has become long.
  private func notice(_ number: Int) -> Task<Void, Never> {
    Task {
      do { try await environment.sleep(environment.deadlines.firstAnswer) } catch { return }
      guard number == waitNumber else { return }
      isLate = true
      wake()
    }
  }

  private func sleep(_ continuation: CheckedContinuation<Void, Never>) {
    // If it was cancelled just now, the wake-up may have come already.
    if Task.isCancelled { continuation.resume() } else { waiter = continuation }
  }

  private func wake() {
    waiter?.resume()
    waiter = nil
  }

  /// Puts a slow peer behind all others, for good. False if it was there before.
  func later(_ peer: AskedHolder) -> Bool {
    guard slow.insert(peer).inserted else { return false }
    return queue(peer)
  }

  /// Holders that are new, or have new addresses. Who hasn't answered yet is asked there.
  private func heard(_ known: [PeerRecord]) {
    guard !isStopped else { return }
    for peer in known {
      if let place = peers.firstIndex(where: { $0.digest == peer.digest }) {
        // It keeps the name by which it was asked before.
        guard peers[place].card != peer.card else { continue }
        peers[place].card = peer.card
        let holder = peers[place].asked
        if let waiting = pending.firstIndex(where: { $0.digest == peer.digest }) {
          pending[waiting].card = peer.card
        } else if silent.remove(holder) != nil {
          _ = again(holder)
        } else {
          moved.insert(holder)
        }
      } else if peers.count < Self.peerLimit {
        peers.append(peer)
        pending.append(peer)
      }
    }
    wake()
  }

  /// Everybody in the trust list, and those introduced for one secret.
  private static let peerLimit = 65_536
  /// Could not be reached so far.
  private var silent: Set<AskedHolder> = []
  /// Are being asked at an old address.
  private var moved: Set<AskedHolder> = []

  /// Asks a peer again that was of use since its last cut, or after a pause. Its count of repeats begins anew.
  func afterProgress(_ peer: AskedHolder) {
    repeats[peer] = nil
    _ = queue(peer)
  }

  /// Whether somebody is left who isn't slow.
  var hasOthers: Bool { !answers.isEmpty || !running.isEmpty || !pending.isEmpty }

  /// Asks a peer again whose connection was cut. False when that was often enough.
  func again(_ peer: AskedHolder) -> Bool {
    guard repeats[peer, default: 0] < Self.repeatLimit else { return false }
    repeats[peer, default: 0] += 1
    return queue(peer)
  }

  private func queue(_ holder: AskedHolder) -> Bool {
    guard let peer = peers.first(where: { $0.digest == holder.digest }) else { return false }
    if slow.contains(holder) { last.append(peer) } else { pending.append(peer) }
    return true
  }

  /// Cancels what is being asked. Returns answers that nobody has taken.
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

  private func start(_ peer: PeerRecord) {
    let number = nextTask
    nextTask += 1
    asked.append(peer.asked)
    silent.remove(peer.asked)
    began(peer)
    running[number] = Task {
      let answer = await ask(peer)
      heard(learned())
      await took(answer, of: number)
    }
  }

  private func took(_ answer: Answer, of number: Int) async {
    running[number] = nil
    if isStopped {
      // Nobody wants it any more.
      if case .released(let share) = answer { await share.pieces.close() }
    } else {
      if case .failed(let peer, let failure) = answer {
        failures += 1
        if failure.kind == .unreachable {
          if moved.remove(peer) != nil { _ = again(peer) } else { silent.insert(peer) }
        }
      }
      answers.append(answer)
    }
    wake()
  }
}
