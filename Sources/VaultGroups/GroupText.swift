import Grouper

/// A join request or an invitation as text, for files, mail and QR codes: a word that says what it is, a colon, and
/// Base32 (RFC 4648) in capitals without padding, which QR codes take in their alphanumeric mode.
///
/// Neither needs a checksum: a request is signed, an invitation sealed.
enum GroupText {
  enum Kind: String, CaseIterable {
    case request = "VAULT-JOIN:"
    case invitation = "VAULT-INVITATION:"

    /// Most bytes inside.
    var byteLimit: Int {
      switch self {
      case .request: JoinRequest.byteLimit
      case .invitation: Invitation.byteLimit
      }
    }
  }

  private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

  static func text(_ kind: Kind, _ bytes: [UInt8]) -> String {
    var text = Array(kind.rawValue.utf8)
    text.reserveCapacity(text.count + bytes.count * 8 / 5 + 1)
    var (waiting, count) = (UInt32(0), 0)
    for byte in bytes {
      waiting = (waiting << 8 | UInt32(byte)) & 0xFFFF
      count += 8
      while count >= 5 {
        count -= 5
        text.append(digits[Int(waiting >> UInt32(count) & 31)])
      }
    }
    if count > 0 { text.append(digits[Int(waiting << UInt32(5 - count) & 31)]) }
    return String(decoding: text, as: UTF8.self)
  }

  /// The bytes of a text of this kind; nil if it is none, or not written as it is here.
  static func bytes(_ kind: Kind, _ text: some Collection<UInt8>) -> [UInt8]? {
    let prefix = Array(kind.rawValue.utf8)
    guard text.starts(with: prefix), text.count - prefix.count <= (kind.byteLimit * 8 + 4) / 5 else { return nil }
    var bytes: [UInt8] = []
    var (waiting, count) = (UInt32(0), 0)
    for digit in text.dropFirst(prefix.count) {
      let value: UInt8
      switch digit {
      case 0x41...0x5A: value = digit - 0x41
      case 0x32...0x37: value = digit - 0x32 + 26
      default: return nil
      }
      waiting = (waiting << 5 | UInt32(value)) & 0xFFF
      count += 5
      guard count >= 8 else { continue }
      count -= 8
      bytes.append(UInt8(truncatingIfNeeded: waiting >> UInt32(count)))
    }
    // One text for the same bytes: no digit too many, and nothing in the bits that are left.
    guard count < 5, waiting & (1 << UInt32(count) - 1) == 0, !bytes.isEmpty else { return nil }
    return bytes
  }
}
