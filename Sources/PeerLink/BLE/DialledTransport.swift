import PeerAuth
import Synchronization

/// A connection to a place at which a peer is expected. It tells once whether the peer was there: whether a session has
/// come about, or has not, or not in time. If it was let go before that, nobody knows.
final class DialledTransport: PeerTransport {
  private let transport: any PeerTransport
  private let verdict: Verdict
  private let timer: Task<Void, Never>

  init(
    _ transport: any PeerTransport, within limit: Duration, _ time: BLETime,
    tell: @escaping @Sendable (_ isPeer: Bool) -> Void
  ) {
    let verdict = Verdict(tell)
    self.transport = transport
    self.verdict = verdict
    timer = Task {
      do { try await time.sleep(limit) } catch { return }
      // Somebody else may be there, who says nothing.
      if verdict.fall(.late) { await transport.close() }
    }
  }

  deinit { timer.cancel() }

  var remoteDescription: String { transport.remoteDescription }
  var isFamiliar: Bool { transport.isFamiliar }

  func read(atMost limit: Int) async throws(TransportError) -> [UInt8] {
    let bytes: [UInt8]
    do throws(TransportError) { bytes = try await transport.read(atMost: limit) } catch {
      throw verdict.isLate ? .timedOut : error
    }
    if bytes.isEmpty, verdict.isLate { throw .timedOut }
    return bytes
  }

  func write(_ bytes: [UInt8]) async throws(TransportError) {
    do throws(TransportError) { try await transport.write(bytes) } catch {
      throw verdict.isLate ? .timedOut : error
    }
  }

  func close() async {
    timer.cancel()
    // Whoever is cancelled has other reasons.
    if !Task.isCancelled { verdict.fall(.failed) }
    await transport.close()
  }

  func reached(_ standing: PeerStanding) {
    transport.reached(standing)
    guard case .peer = standing else { return }
    timer.cancel()
    verdict.fall(.peer)
  }

  /// What came of it; the first word counts.
  private final class Verdict: Sendable {
    enum Finding { case peer, failed, late }

    private let finding = Mutex<Finding?>(nil)
    private let tell: @Sendable (Bool) -> Void

    init(_ tell: @escaping @Sendable (Bool) -> Void) { self.tell = tell }

    var isLate: Bool { finding.withLock { $0 == .late } }

    /// False if something else was found before.
    @discardableResult
    func fall(_ word: Finding) -> Bool {
      let isFirst = finding.withLock { finding in
        guard finding == nil else { return false }
        finding = word
        return true
      }
      if isFirst { tell(word == .peer) }
      return isFirst
    }
  }
}
