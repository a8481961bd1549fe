/// A part of a parcel: sealed bytes in an element of their own, in a message without a text.
package struct XMPPParcelPart: Hashable, Sendable {
  /// Most bytes in one stanza: servers take 256 kB of XML, and Base64 makes four characters of three bytes.
  package static let sizeLimit = 180_000
  package static let countLimit = 128
  package static let idLimit = 128

  /// The sender's name for the parcel.
  package let id: String
  package let from: JID
  /// From zero.
  package let number: Int
  package let count: Int
  package let bytes: [UInt8]
  /// When it was first kept by a server; nil if it came at once.
  package let stamp: String?
  /// What a carrier says of it; nil if its sender brings it itself.
  package var carriage: XMPPCarriage?

  package init(
    id: String, from: JID, number: Int, count: Int, bytes: [UInt8], stamp: String?, carriage: XMPPCarriage? = nil
  ) {
    self.id = id
    self.from = from
    self.number = number
    self.count = count
    self.bytes = bytes
    self.stamp = stamp
    self.carriage = carriage
  }
}

/// What a carrier says of somebody else's parcel that it leaves at a server, in attributes of the parcel's element,
/// which servers leave alone. It proves nothing: what the parcel's sender can check stands in the receipt.
package struct XMPPCarriage: Hashable, Sendable {
  /// Most carriers that a sender gives a parcel to.
  package static let branchLimit: UInt8 = 5
  /// Most carriers in a row.
  package static let hopLimit: UInt8 = 8

  /// Which of its sender's carriers had the parcel first, from zero.
  package let branch: UInt8
  /// By how many carriers it has come.
  package let hops: UInt8

  /// Nil if a number is out of bounds.
  package init?(branch: UInt8, hops: UInt8) {
    guard branch < Self.branchLimit, (1...Self.hopLimit).contains(hops) else { return nil }
    self.branch = branch
    self.hops = hops
  }

  /// What two attributes say, each of one digit.
  package init?(branch: String?, hops: String?) {
    guard let branch = Self.digit(branch), let hops = Self.digit(hops) else { return nil }
    self.init(branch: branch, hops: hops)
  }

  private static func digit(_ text: String?) -> UInt8? {
    guard let bytes = text?.utf8, bytes.count == 1, let byte = bytes.first, (0x30...0x39).contains(byte) else {
      return nil
    }
    return byte - 0x30
  }
}

extension XMPPParcelPart {
  package static func isID(_ id: String) -> Bool {
    !id.isEmpty && id.utf8.count <= idLimit && id.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  package static func parts(_ size: Int) -> Int { max(1, (size + sizeLimit - 1) / sizeLimit) }
}
