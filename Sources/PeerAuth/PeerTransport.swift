/// A stream of bytes to one peer: TCP, Bluetooth, or memory. It carries ciphertext only and promises nothing about it.
///
/// One task may read while another writes; two reads or two writes at once are not allowed. When the task that waits in
/// ``read(atMost:)`` or ``write(_:)`` is cancelled, the call throws promptly and the transport is closed.
public protocol PeerTransport: Sendable {
  /// The next 1 to `atMost` bytes, as soon as there are any. Empty means that the peer has ended its side.
  func read(atMost: Int) async throws(TransportError) -> [UInt8]
  /// Takes all bytes. Returns when there is room for more, which may be before they arrive; a loss shows later.
  func write(_ bytes: [UInt8]) async throws(TransportError)
  /// Sends what was written and ends the stream; pending reads and writes throw. Repeating it does nothing.
  func close() async
  /// Where the peer is, for logs: an address, never a name that the peer chose.
  var remoteDescription: String { get }
  /// Where the work for this stream is done with the fewest changes of thread; nil if that makes no difference.
  var executor: (any TaskExecutor)? { get }
}

extension PeerTransport {
  /// No place is better than another.
  public var executor: (any TaskExecutor)? { nil }
}

/// What can go wrong on the way, before anything a peer says is looked at.
public enum TransportError: Error, Sendable, Hashable {
  /// This side closed the stream, or the waiting task was cancelled.
  case closed
  /// A deadline passed.
  case timedOut
  /// No connection came about, and the system's reason.
  case unreachable(String)
  /// The connection broke, and the system's reason.
  case io(String)
}
