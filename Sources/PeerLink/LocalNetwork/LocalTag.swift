package import PeerAuth

/// What a device's offer on its networks says: its tag of the hour, as over Bluetooth, behind `t=` (RFC 6763, section 6.4).
package enum LocalTag {
  private static let key = Array("t=".utf8)

  package static func texts(_ tag: BeaconTag) -> [[UInt8]] { [key + tag.bytes] }

  /// The tag in an offer of somebody; the first text that begins like one counts.
  package static func tag(in texts: [[UInt8]]) -> BeaconTag? {
    texts.first { $0.starts(with: key) }.flatMap { BeaconTag(Array($0.dropFirst(key.count))) }
  }
}
