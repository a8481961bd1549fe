import Sodium
import VaultStore

/// The account addresses that peers announce in their messages.
extension Accounts {
  /// Takes the address that a peer announced at `time`. The user's own entry wins until the peer announces another address than
  /// before: then it has moved. An address that the user has forgotten isn't taken again. Later announcements win, and no two
  /// peers have the same address.
  func noteAddress(_ address: String, of peer: PeerRecord, at time: Int64) {
    guard Self.isAddress(address) else { return }
    let key = "peer-address-\(peer.digest)"
    do {
      let forgotten = try database.meta(Self.forgottenKey(peer.digest)).flatMap { $0.isEmpty ? nil : $0 }
      guard forgotten != Array(address.utf8) else { return }
      let known = try database.peerAddress(peer.digest)
      let said = try database.meta(key).flatMap { $0.count > 8 ? $0 : nil }
      let hasMoved = said.map { Array($0[8...]) != Array(address.utf8) } ?? false
      if let said {
        guard Int64(bigEndianBytes: said[..<8]) < time else { return }
        // The user wants none.
        guard known != nil || forgotten != nil else { return }
      }
      guard try !database.peerAddresses().contains(where: { $0.key != peer.digest && $0.value == address }) else {
        return
      }
      try database.setMeta(key, to: time.bigEndianBytes + Array(address.utf8))
      guard known == nil || hasMoved, known != address else { return }
      try database.setPeerAddress(peer.digest, address)
    } catch { environment.log.error("the address of \(peer.name) can't be kept: \(error)") }
  }

  /// The address of this peer that the user has forgotten last.
  private static func forgottenKey(_ peer: Digest) -> String { "peer-address-forgotten-\(peer)" }

  /// Takes this address from its peer, which can't announce it again: only the user can set it.
  package func forgetAccountAddress(_ address: String) throws {
    for (peer, known) in try database.peerAddresses() where known == address {
      try database.setMeta(Self.forgottenKey(peer), to: Array(address.utf8))
      try database.setPeerAddress(peer, nil)
    }
  }

  /// Sets, or with nil removes, a peer's account address by the user's word.
  @discardableResult
  package func setAccountAddress(_ reference: String, to address: String?) throws -> PeerSummary {
    let peer = try directory.find(reference)
    let key = Self.forgottenKey(peer.digest)
    if try database.meta(key)?.isEmpty == false { try database.setMeta(key, to: []) }
    try database.setPeerAddress(peer.digest, address)
    return try directory.summary(peer)
  }

  /// Whether it has the form `name@server`, in lower case.
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
