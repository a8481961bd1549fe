import Sodium
import Synchronization
import VaultProtocol

/// Remembers headers that were read and verified, since verifying one takes half a millisecond and every request needs it.
///
/// A header is known by all of its bytes, as they lie in the store at that moment: one that was changed or deleted there is
/// not found here by what it was.
final class HeaderMemory: Sendable {
  /// Encoded bytes of the headers that are remembered; when there is no room left, all are forgotten. Read, they take some
  /// times as much.
  static let byteLimit = 2 << 20

  private struct State {
    var headers: [Digest: SecretHeader] = [:]
    var byteCount = 0
  }

  private let state = Mutex(State())

  /// The header in `bytes`, which are stored under `digest`: read and verified, now or earlier.
  func header(_ bytes: [UInt8], digest: Digest) throws(ProtocolError) -> SecretHeader {
    if let known = state.withLock({ $0.headers[digest] }), known.bytes == bytes { return known }
    let header = try SecretHeader(bytes: bytes)
    guard header.digest == digest else { throw .inconsistentHeader("digest") }
    state.withLock { state in
      if state.byteCount + bytes.count > Self.byteLimit { state = State() }
      guard state.headers.updateValue(header, forKey: digest) == nil else { return }
      state.byteCount += bytes.count
    }
    return header
  }

  var count: Int { state.withLock { $0.headers.count } }
}
