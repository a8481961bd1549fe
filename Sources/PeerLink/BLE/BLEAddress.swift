/// Where a device answers over Bluetooth LE: 48 bits, and whether they are its own for ever or drawn for a while.
package struct BLEAddress: Hashable, Sendable, CustomStringConvertible {
  /// What the bits are.
  package enum Kind: UInt8, Hashable, Sendable {
    /// Given to the device by its maker; names it to everybody.
    case `public` = 1
    /// Drawn at random: for minutes with LE privacy, else for as long as the device likes.
    case random = 2
  }

  package static let byteCount = 6

  /// The bytes in the kernel's order: the last one of the text first.
  package let bytes: [UInt8]
  /// What the bits are.
  package let kind: Kind

  /// An address in the kernel's order; nil unless it has six bytes.
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

  /// As people write it.
  package var description: String {
    bytes.reversed().map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: ":")
  }
}

/// A Bluetooth adapter of this machine, as the kernel describes it.
package struct BLEAdapter: Hashable, Sendable {
  /// Its number.
  package let index: UInt16
  package let address: BLEAddress
  /// Whether it is switched on.
  package let isOn: Bool
  /// Whether it is made for LE at all.
  package let knowsLE: Bool
  /// Whether LE is enabled.
  package let hasLE: Bool
  /// Whether it shows changing addresses instead of its own (LE privacy).
  package let isPrivate: Bool

  /// An adapter from its parts.
  package init(index: UInt16, address: BLEAddress, isOn: Bool, knowsLE: Bool, hasLE: Bool, isPrivate: Bool) {
    self.index = index
    self.address = address
    self.isOn = isOn
    self.knowsLE = knowsLE
    self.hasLE = hasLE
    self.isPrivate = isPrivate
  }

  /// `hci0`, …
  package var name: String { "hci\(index)" }
}

/// Which adapters are used.
package enum BLEAdapterChoice: Hashable, Sendable {
  case all
  /// The one with this name, such as `hci0`.
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

  /// What a setting says; throws if that makes no sense.
  package init(setting text: String) throws(BLEError) {
    guard let choice = Self(text) else { throw .badChoice(text) }
    self = choice
  }

  /// Whether an adapter is among those chosen.
  package func includes(_ adapter: BLEAdapter) -> Bool {
    switch self {
    case .all: true
    case .name(let name): adapter.name == name
    case .address(let text): adapter.address.description == text
    }
  }
}
