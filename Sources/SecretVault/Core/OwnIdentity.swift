package import PeerAuth

/// This device as others see it.
package struct OwnIdentity: Sendable {
  /// The signed card, without the beacon key.
  package let card: PeerCard
  /// 5×5 digits to compare by voice.
  package let fingerprint: String
  /// `vaultpeer1…`, signed, to publish.
  package let text: String
  /// The upper-case form for a QR code, with the beacon key.
  package let qrText: String
}
