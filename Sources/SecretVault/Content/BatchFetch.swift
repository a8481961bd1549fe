import Synchronization

/// Fetches the pieces of the same numbers from several fragments at once, and lets no slow source hold up the others.
///
/// A source has time for the whole batch, not for each message: the reply deadline, and what its bytes take at the
/// slowest line that is still of use. When at least half of the sources are done and somebody else could take over, the
/// others get only a multiple of what the first half took, or the deadline for slow holders if that is longer.
struct BatchFetch: Sendable {
  typealias Result = Swift.Result<[VerifiedPiece], LinkFailure>

  struct Outcome: Sendable {
    /// One for each source, in their order.
    var results: [Result]
    /// Milliseconds that the faster half took, if half of them were done.
    let pace: Double?
  }

  /// How many times longer than the faster half a source may take when it could be replaced.
  static let patience = 3.0

  let sources: [any PieceSource]
  let first: UInt64
  let count: Int
  let byteCount: Int
  /// Milliseconds that others took for the same pieces: a source that takes over has no more time than the one before.
  let pace: Double?
  let environment: VaultEnvironment
  let maySwitch: @Sendable () async -> Bool
  /// What has come of this batch already, before a source failed, and is not asked for again.
  let arrived: ArrivedPieces

  private enum Event: Sendable {
    case ended(slot: Int, Result)
    case graceOver
    case timeOver
    case nothing
  }

  /// Returns when all results are there or have run out of time.
  func run() async -> Outcome {
    await withTaskGroup(of: Event.self) { group in
      for (slot, source) in sources.enumerated() {
        group.addTask { .ended(slot: slot, await pieces(from: source)) }
      }
      let limit: Duration = .seconds(byteCount / SlowLine.minimumRate) + environment.deadlines.reply
      group.addTask { await wait(limit, then: .timeOver) }
      let began = environment.monotonic()
      var results = [Result?](repeating: nil, count: sources.count)
      var done = 0
      var pace = pace
      if let pace { group.addTask { await wait(grace(pace), then: .graceOver) } }
      while done < sources.count, let event = await group.next() {
        switch event {
        case .ended(let slot, let result):
          results[slot] = result
          done += 1
          if pace == nil, done * 2 >= sources.count {
            let taken = environment.monotonic() - began
            pace = taken
            group.addTask { await wait(grace(taken), then: .graceOver) }
          }
        case .graceOver:
          if await maySwitch() { done = sources.count }
        case .timeOver: done = sources.count
        case .nothing: break
        }
      }
      group.cancelAll()
      return Outcome(results: results.map { $0 ?? .failure(.tooSlow) }, pace: pace)
    }
  }

  private func grace(_ pace: Double) -> Duration {
    max(environment.deadlines.slowHolder, .milliseconds(Int64(Self.patience * pace)))
  }

  private func wait(_ duration: Duration, then event: Event) async -> Event {
    do { try await environment.sleep(duration) } catch { return .nothing }
    return event
  }

  private func pieces(from source: any PieceSource) async -> Result {
    let index = source.index
    let have = arrived.count(of: index)
    do throws(LinkFailure) {
      if have < count {
        try await source.fetch(first: first + UInt64(have), count: count - have) { arrived.add($0, of: index) }
      }
      let pieces = arrived.pieces(of: index)
      guard pieces.count == count else { throw LinkFailure(.misbehaved, "sent fewer pieces than were asked for") }
      return .success(pieces)
    } catch {
      return .failure(error)
    }
  }
}

/// What has arrived of a batch, by the number of the fragment that it belongs to: in order, each verified against its root, so that it doesn't
/// matter who sent it.
final class ArrivedPieces: Sendable {
  private let list = Mutex<[UInt8: [VerifiedPiece]]>([:])

  func add(_ piece: VerifiedPiece, of index: UInt8) { list.withLock { $0[index, default: []].append(piece) } }

  func count(of index: UInt8) -> Int { list.withLock { $0[index]?.count ?? 0 } }

  func pieces(of index: UInt8) -> [VerifiedPiece] { list.withLock { $0[index] ?? [] } }
}
