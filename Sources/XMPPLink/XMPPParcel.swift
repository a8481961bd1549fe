/// A part of a parcel: sealed bytes in an element of their own, in a message without a text.
public struct XMPPParcelPart: Hashable, Sendable {
  /// Most bytes in one stanza: servers take 256 kB of XML, and Base64 makes four characters of three bytes.
  public static let sizeLimit = 180_000
  /// Most parts of a parcel.
  public static let countLimit = 128
  /// Longest id in bytes.
  public static let idLimit = 128

  /// The sender's name for the parcel.
  public let id: String
  /// Who sent it.
  public let from: JID
  /// From zero.
  public let number: Int
  /// How many there are.
  public let count: Int
  /// What it carries.
  public let bytes: [UInt8]
  /// When it was first kept by a server; nil if it came at once.
  public let stamp: String?
}

extension XMPPParcelPart {
  static func isID(_ id: String) -> Bool {
    !id.isEmpty && id.utf8.count <= idLimit && id.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  /// How many parts `size` bytes make.
  static func parts(_ size: Int) -> Int { max(1, (size + sizeLimit - 1) / sizeLimit) }
}
