import PeerAuth
import PeerLink
import Synchronization

/// Opens connections to peers. The network's threads start with the first one: a command that dials nobody has none.
final class Dialler: Sendable {
  private let connector = Mutex<TCPConnector?>(nil)

  /// A byte stream to an address.
  func connect(_ address: PeerAddress) async throws(TransportError) -> any PeerTransport {
    let connector = connector.withLock { current in
      if let current { return current }
      let made = TCPConnector()
      current = made
      return made
    }
    return try await connector.connect(address)
  }
}
