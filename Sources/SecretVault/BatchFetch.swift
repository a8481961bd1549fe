/// Fetches the same pieces' numbers from several fragments at once, and lets no slow source hold up the others.
///
/// A source has time for the whole batch, not for each message: the reply deadline, and what its bytes take at the
/// slowest line that is still of use. When at least half of the sources are done and somebody else could take over, the
/// others get only a multiple of what the first half took.
struct BatchFetch: Sendable {
  typealias Result = Swift.Result<[VerifiedPiece], LinkFailure>

  /// Bytes a second below which a source counts as failed.
  static let minimumRate = 32 << 10
  /// Least time, in milliseconds, that a slow source gets when it could be replaced.
  static let grace = 2000.0
  /// How many times longer than the faster half a source may take when it could be replaced.
  static let patience = 3.0

  let sources: [any PieceSource]
  let first: UInt64
  let count: Int
  let byteCount: Int
  let environment: VaultEnvironment
  let maySwitch: @Sendable () async -> Bool

  private enum Event: Sendable {
    case ended(slot: Int, Result)
    case graceOver
    case timeOver
    case nothing
  }

  /// One result a source, in the sources' order. Returns when all are there or have run out of time.
  func run() async -> [Result] {
    await withTaskGroup(of: Event.self) { group in
      for (slot, source) in sources.enumerated() {
        group.addTask { .ended(slot: slot, await pieces(from: source)) }
      }
      group.addTask { await wait(.seconds(byteCount / Self.minimumRate) + environment.deadlines.reply, then: .timeOver) }
      let began = environment.monotonic()
      var results = [Result?](repeating: nil, count: sources.count)
      var done = 0
      var hasGrace = false
      while done < sources.count, let event = await group.next() {
        switch event {
        case .ended(let slot, let result):
          results[slot] = result
          done += 1
          if !hasGrace, done * 2 >= sources.count, done < sources.count {
            hasGrace = true
            let left = max(Self.grace, Self.patience * (environment.monotonic() - began))
            group.addTask { await wait(.milliseconds(Int64(left)), then: .graceOver) }
          }
        case .graceOver:
          if await maySwitch() { done = sources.count }
        case .timeOver:
          done = sources.count
        case .nothing:
          break
        }
      }
      group.cancelAll()
      return results.map { $0 ?? .failure(.tooSlow) }
    }
  }

  private func wait(_ duration: Duration, then event: Event) async -> Event {
    do { try await environment.sleep(duration) } catch { return .nothing }
    return event
  }

  private func pieces(from source: any PieceSource) async -> Result {
    do throws(LinkFailure) {
      let pieces = try await source.pieces(first: first, count: count)
      guard pieces.count == count else { throw LinkFailure(.misbehaved, "sent fewer pieces than were asked for") }
      return .success(pieces)
    } catch {
      return .failure(error)
    }
  }
}
