import Sodium
import VaultStore

/// What peers say in their messages about where they can be had.
extension Vault {
  /// Takes a peer's own word, as of `time`. It never counts against what this device's user has said or forgotten, nor against a later word, nor
  /// where another peer is.
  func noteAddress(_ address: String, of peer: PeerRecord, at time: Int64) {
    guard Self.isAddress(address) else { return }
    let key = "peer-address-\(peer.digest)"
    do throws(StoreError) {
      let known = try database.peerAddress(peer.digest)
      if let said = try database.meta(key) {
        guard said.count > 8, let known, Array(known.utf8) == Array(said[8...]) else { return }
        guard said[..<8].reduce(0, { $0 << 8 | Int64($1) }) < time else { return }
      } else if known != nil {
        return
      }
      guard try !database.peerAddresses().contains(where: { $0.key != peer.digest && $0.value == address }) else {
        return
      }
      let word = (0..<8).map { UInt8(truncatingIfNeeded: time >> (56 - 8 * Int64($0))) } + Array(address.utf8)
      try database.setMeta(key, to: word)
      if known != address { try database.setPeerAddress(peer.digest, address) }
    } catch { environment.log.error("the address of \(peer.name) can't be kept: \(error)") }
  }

  /// Whether a text can be the address of an account: a name, an at sign, and a server, in small letters.
  static func isAddress(_ text: String) -> Bool {
    let parts = text.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
    guard parts.count == 2, text.utf8.count <= 512, !parts[0].isEmpty, !parts[1].isEmpty else { return false }
    let forbidden = Array("\"&'/:<>".utf8)
    let isName = parts[0].allSatisfy {
      $0 > 0x20 && $0 != 0x7f && !forbidden.contains($0) && !(0x41...0x5a).contains($0)
    }
    return isName
      && parts[1].allSatisfy {
        (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
          || $0 >= 0x80
      }
  }
}
