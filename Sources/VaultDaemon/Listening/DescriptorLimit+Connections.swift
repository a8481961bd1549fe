import Concurrency
import PeerLink

extension DescriptorLimit {
  /// Connections that leave room for everything else: a connection takes two descriptors as a rule, its socket and the
  /// fragment that goes through it (a peer that asks for several secrets in one session has four fragments open at
  /// most); the database, the log and the commands that are run take the rest.
  static func connections(within descriptors: Int) -> TCPListener.Limits {
    let total = max(1, min(1024, (descriptors - 128) / 2))
    return TCPListener.Limits(perAddress: min(256, total), total: total)
  }
}
