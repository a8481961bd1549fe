import Glibc
import Synchronization
import VaultDaemon

/// One line on the terminal that is drawn over and over: how far, how fast, how long still.
///
/// It shows up only on a terminal, and only for what takes longer than a second.
final class ProgressLine: Sendable {
  private struct State {
    var startedAt: Double?
    var drawnAt = 0.0
  }

  /// Whether a line is on the screen now, whoever drew it. Written by who holds ``drawing``, read by anybody: a thread
  /// that holds it may be stuck in a write.
  private static let isShown = Atomic<Bool>(false)
  /// One drawer at a time.
  private static let drawing = Mutex(())
  /// Takes a line off the screen.
  static let erasure = "\r\u{1B}[K"
  /// Whether a line may be on the screen, without waiting for whoever is drawing.
  static var isOnScreen: Bool { isShown.load(ordering: .relaxed) }

  private let label: String
  private let isWanted: Bool
  private let state = Mutex(State())

  init(_ label: String, _ console: Console) {
    self.label = label
    isWanted = !console.quiet && Console.errorIsTerminal
  }

  /// Says how far it is. Draws ten times a second at most.
  func update(done: UInt64, total: UInt64?) {
    guard isWanted else { return }
    let now = Clocks.monotonic()
    let elapsed: Double? = state.withLock { state in
      let start = state.startedAt ?? now
      state.startedAt = start
      guard now - start >= 1000, now - state.drawnAt >= 100 else { return nil }
      state.drawnAt = now
      return (now - start) / 1000
    }
    guard let elapsed else { return }
    let line = Self.text(label, done: done, total: total, seconds: elapsed)
    Self.drawing.withLock { _ in
      Self.isShown.store(true, ordering: .relaxed)
      try? Console.write(Self.erasure + line, to: STDERR_FILENO)
    }
  }

  /// `encrypting  45%  123 MB of 270 MB  80 MB/s  0:02 left`
  static func text(_ label: String, done: UInt64, total: UInt64?, seconds: Double) -> String {
    let rate = seconds > 0 ? Double(done) / seconds : 0
    guard let total, total > 0 else { return "\(label)  \(Measures.size(done))  \(Measures.rate(rate))" }
    let taken = min(done, total)
    let share = Int(Double(taken) / Double(total) * 100)
    let left = rate > 0 ? Measures.clock(Double(total - taken) / rate) : "-:--"
    return
      "\(label)  \(share)%  \(Measures.size(taken)) of \(Measures.size(total))  \(Measures.rate(rate))  \(left) left"
  }

  /// Takes the line off the screen, so that other text starts at its beginning.
  static func clear() {
    drawing.withLock { _ in
      guard isShown.exchange(false, ordering: .relaxed) else { return }
      try? Console.write(erasure, to: STDERR_FILENO)
    }
  }
}
