import Concurrency

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
  /// Hears how far the other side has come in proving who it is: whoever has to choose keeps those who have come further, and whoever
  /// dialled a place knows that it was the right one.
  func reached(_ standing: PeerStanding)
  /// Whether a peer has proved itself lately from where this connection comes from: it is served first.
  var isFamiliar: Bool { get }
}

extension PeerTransport {
  /// Nothing to choose.
  public func reached(_ standing: PeerStanding) {}
  /// Nobody is remembered.
  public var isFamiliar: Bool { false }
}

/// How far the other side of a connection has come in proving who it is. Who was dialled is a stranger until it is the peer.
public enum PeerStanding: Hashable, Sendable {
  /// Anybody: it has said nothing, or nothing that makes sense yet.
  case stranger
  /// It has begun a handshake, so it knows this device's card or repeats the words of somebody who does.
  case caller
  /// It has proved that it holds all keys of this trusted card: with a session, where it has dialled.
  case peer(CardKeys)
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
  /// The connection broke because of this side, and what happened here, for people: an adapter was switched off, say.
  case lost(String)
}

extension TransportError: DeadlineError {
  package static var deadlinePassed: TransportError { .timedOut }
}

/// Places that are no address of the network.
package enum PeerPlace {
  /// What the description of a connection over Bluetooth begins with; its address follows.
  package static let bluetoothPrefix = "bluetooth "
}
