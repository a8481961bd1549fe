/// Where a device answers over Bluetooth LE: 48 bits, and whether they are its own for ever or drawn for a while.
package struct BLEAddress: Hashable, Sendable, CustomStringConvertible {
  package enum Kind: UInt8, Hashable, Sendable {
    /// Given to the device by its maker; names it to everybody.
    case `public` = 1
    /// Drawn at random: for minutes with LE privacy, else for as long as the device likes.
    case random = 2
  }

  package static let byteCount = 6

  /// The bytes in the kernel's order: the last one of the text first.
  package let bytes: [UInt8]
  package let kind: Kind

  package init?(_ bytes: [UInt8], _ kind: Kind) {
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
    self.kind = kind
  }

  /// An address as people write it: `00:AA:01:00:00:01`.
  package init?(_ text: String, _ kind: Kind) {
    let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard parts.count == Self.byteCount else { return nil }
    var bytes: [UInt8] = []
    for part in parts {
      guard part.count == 2, !part.contains(UInt8(ascii: "+")), !part.contains(UInt8(ascii: "-")),
        let byte = UInt8(String(decoding: part, as: UTF8.self), radix: 16)
      else { return nil }
      bytes.insert(byte, at: 0)
    }
    self.init(bytes, kind)
  }

  package var description: String {
    bytes.reversed().map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: ":")
  }
}

package struct BLEAdapter: Hashable, Sendable {
  package let index: UInt16
  package let address: BLEAddress
  package let isOn: Bool
  /// Whether it is made for LE at all.
  package let knowsLE: Bool
  package let hasLE: Bool
  /// Whether it shows changing addresses instead of its own (LE privacy).
  package let isPrivate: Bool

  package var name: String { "hci\(index)" }
}

package enum BLEAdapterChoice: Hashable, Sendable {
  case all
  case name(String)
  case address(String)

  /// `all`, `hci0` or an address; nil for anything else.
  package init?(_ text: String) {
    if text == "all" {
      self = .all
    } else if let address = BLEAddress(text, .public) {
      self = .address(address.description)
    } else if text.hasPrefix("hci"), (4...7).contains(text.utf8.count),
      text.utf8.dropFirst(3).allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    {
      self = .name(text)
    } else {
      return nil
    }
  }

  package init(setting text: String) throws(BLEError) {
    guard let choice = Self(text) else { throw .badChoice(text) }
    self = choice
  }

  package func includes(_ adapter: BLEAdapter) -> Bool {
    switch self {
    case .all: true
    case .name(let name): adapter.name == name
    case .address(let text): adapter.address.description == text
    }
  }
}
