import PeerAuth

@testable import SecretVault

/// Results as a vault would return them, for tables and JSON.
enum Samples {
  static let id = "4be1c0ffee00112233445566778899aa"
  static let at: Int64 = 1_795_230_954_120

  static let peer = PeerSummary(
    name: "Bob", label: "Bob \u{1B}[31m", state: .proven, fingerprint: "01234 56789 01234 56789 01234",
    cardDigest: "abcd", addresses: [], cardText: "vaultpeer1qq", addedAt: at, lastSeenAt: nil)

  static func recipient(
    _ name: String, label: String? = nil, state: PeerSummary.State = .proven, digest: String? = nil
  ) throws -> PeerSummary {
    PeerSummary(
      name: name, label: label ?? name, state: state, fingerprint: "01234 56789 01234 56789 01234",
      cardDigest: digest ?? name, addresses: [try PeerAddress(host: "there.example", port: 4721)],
      cardText: "vaultpeer1qq", addedAt: at, lastSeenAt: nil)
  }

  static var recipients: [PeerSummary] { get throws { [try recipient("Bob"), try recipient("Carol")] } }

  static let secret = SecretSummary(
    id: id, description: "house \"keys\"\n", kind: "file", origin: .dealt, dealer: "you", threshold: 2, shareCount: 3,
    ownIndex: 1, createdAt: at, delivered: 1, waiting: 1)

  static let held = SecretSummary(
    id: id, description: nil, kind: "note", origin: .held, dealer: "Carol", threshold: 2, shareCount: 3, ownIndex: 2,
    createdAt: at, delivered: nil, waiting: nil)

  static let deliveries = [
    Delivery(peer: "Bob", index: 2, state: .delivered, reason: nil),
    Delivery(peer: "Carol", index: 3, state: .unreachable, reason: "did not answer in time"),
  ]

  static func report(
    _ states: [Delivery.State], threshold: Int, keepsOwnShare: Bool = true, leftOut: [String] = []
  ) -> ShareReport {
    ShareReport(
      id: id, description: "keys", threshold: threshold, shareCount: states.count + (keepsOwnShare ? 1 : 0),
      keepsOwnShare: keepsOwnShare,
      deliveries: states.enumerated().map {
        Delivery(peer: "peer\($0.offset)", index: $0.offset + 2, state: $0.element, reason: nil)
      }, leftOut: leftOut, sourceRemoved: false, sourceRemovalFailure: nil)
  }
}
