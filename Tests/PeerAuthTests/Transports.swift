import Synchronization

@testable import PeerAuth

/// Tells what is called at an end of a line.
final class ObservedTransport: PeerTransport {
  enum Call { case read, write, close }

  private let inner: any PeerTransport
  private let watcher = Mutex<AsyncStream<Call>.Continuation?>(nil)

  init(_ inner: any PeerTransport) { self.inner = inner }

  /// What is called from now on.
  func calls() -> AsyncStream<Call> {
    let (stream, continuation) = AsyncStream.makeStream(of: Call.self)
    watcher.withLock { $0 = continuation }
    return stream
  }

  private func note(_ call: Call) { watcher.withLock { _ = $0?.yield(call) } }

  var remoteDescription: String { inner.remoteDescription }

  func read(atMost limit: Int) async throws(TransportError) -> [UInt8] {
    note(.read)
    return try await inner.read(atMost: limit)
  }

  func write(_ bytes: [UInt8]) async throws(TransportError) {
    note(.write)
    try await inner.write(bytes)
  }

  func close() async {
    note(.close)
    await inner.close()
  }
}

/// An end of a line that closes itself where it is told to, amid what is written to it.
final class EndingTransport: PeerTransport {
  private struct Ending {
    var writesLeft: Int
    let last: [UInt8]
  }

  private let inner: any PeerTransport
  private let ending = Mutex<Ending?>(nil)

  init(_ inner: any PeerTransport) { self.inner = inner }

  /// After so many more writes the next one is replaced by other bytes, and nothing comes behind them.
  func end(afterWrites count: Int, with last: [UInt8] = []) {
    ending.withLock { $0 = Ending(writesLeft: count, last: last) }
  }

  var remoteDescription: String { inner.remoteDescription }

  func read(atMost limit: Int) async throws(TransportError) -> [UInt8] { try await inner.read(atMost: limit) }

  func write(_ bytes: [UInt8]) async throws(TransportError) {
    let last = ending.withLock { ending -> [UInt8]? in
      guard let now = ending else { return nil }
      ending?.writesLeft -= 1
      return now.writesLeft <= 0 ? now.last : nil
    }
    guard let last else { return try await inner.write(bytes) }
    try await inner.write(last)
    await inner.close()
    throw .closed
  }

  func close() async { await inner.close() }
}
