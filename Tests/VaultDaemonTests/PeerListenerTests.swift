import Glibc
import PeerAuth
import Testing

@testable import VaultDaemon

@Suite("Where the daemon listens")
struct PeerListenerTests {
  /// What is tried, where some hosts can't be had.
  private func tried(_ host: String, failing: [String: Int32]) async -> (tried: [String], outcome: String?) {
    var tried: [String] = []
    let outcome = try? await ListeningPlace.bound(host) { (host) async throws(TransportError) -> String in
      tried.append(host)
      guard let code = failing[host] else { return host }
      throw .unreachable(String(cString: strerror(code)))
    }
    return (tried, outcome)
  }

  @Test("where the system knows no IPv6, all its addresses are those of IPv4")
  func withoutSix() async {
    #expect(await tried("::", failing: ["::": EAFNOSUPPORT]) == (["::", "0.0.0.0"], "0.0.0.0"))
    #expect(await tried("::", failing: [:]) == (["::"], "::"))
  }

  @Test("a place that somebody else has, or that was asked for by itself, is not exchanged for another")
  func others() async {
    #expect(await tried("::", failing: ["::": EADDRINUSE]) == (["::"], nil))
    #expect(await tried("::1", failing: ["::1": EADDRNOTAVAIL]) == (["::1"], nil))
    #expect(await tried("::", failing: ["::": EAFNOSUPPORT, "0.0.0.0": EACCES]) == (["::", "0.0.0.0"], nil))
  }
}
