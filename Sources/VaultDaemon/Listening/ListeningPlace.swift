import Glibc
package import PeerAuth

/// Whether peers who dial what this device's card says come to its daemon, as far as that can be told without asking
/// anybody.
package enum ListeningPlace {
  /// What to say to a user whose daemon listens elsewhere than the card says; nil where one of the card's addresses may
  /// lead to it. A card without addresses says nothing that could be wrong.
  static func problem(listening: [PeerAddress], card: [PeerAddress]) -> String? {
    guard !listening.isEmpty, !card.isEmpty, !card.contains(where: { leads($0, toOneOf: listening) }) else {
      return nil
    }
    let told = card.map(\.description).joined(separator: ", ")
    let place = listening.map(\.description).joined(separator: ", ")
    return """
      peers dial \(told), as this device's card says, and the daemon listens on \(place): unless something forwards one to the \
      other, publish another address with 'vault id --address HOST:PORT', or change the setting listen
      """
  }

  /// The same by what a running daemon says of itself.
  package static func problem(listening: [String], card: [PeerAddress]) -> String? {
    problem(listening: listening.compactMap { try? PeerAddress.parse($0) }, card: card)
  }

  private static func leads(_ address: PeerAddress, toOneOf places: [PeerAddress]) -> Bool {
    places.contains { place in
      guard address.port == place.port else { return false }
      // 0.0.0.0 and :: stand for every address that this device has. A name may mean any of them, but not this
      // machine's own loopback.
      if isAny(place.host) || address.host == place.host { return true }
      guard isNumber(address.host) else {
        return address.host == "localhost" ? isLoopback(place.host) : !isLoopback(place.host)
      }
      return false
    }
  }

  package static func isAny(_ host: String) -> Bool { host == "0.0.0.0" || host == "::" }
  package static func isLoopback(_ host: String) -> Bool { host.hasPrefix("127.") || host == "::1" }
  private static func isNumber(_ host: String) -> Bool {
    host.contains(":")
      || host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }

  /// Where the system knows no IPv6, all its addresses are those of IPv4.
  package static func bound<Listener: Sendable>(
    _ host: String, _ bind: (String) async throws(TransportError) -> Listener
  ) async throws(TransportError) -> Listener {
    do { return try await bind(host) } catch {
      guard host == "::", case .unreachable(let reason) = error,
        [EAFNOSUPPORT, EADDRNOTAVAIL].contains(where: { reason.lowercased() == SystemError.text($0).lowercased() })
      else { throw error }
      return try await bind("0.0.0.0")
    }
  }
}
