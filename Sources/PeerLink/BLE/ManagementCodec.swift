/// The kernel's management of Bluetooth adapters (BlueZ, doc/mgmt-api.txt): messages of a header (code, adapter,
/// length, each 16 bits, little-endian) and parameters.
package enum ManagementCommand: Hashable, Sendable {
  case readAdapters
  case readAdapter
  case setLE(Bool)
  case startDiscovery
  case stopDiscovery
  case readAdvertising
  case addAdvertising(instance: UInt8, data: [UInt8], response: [UInt8])
  case removeAdvertising(instance: UInt8)

  /// Addresses that are looked for: LE, public and random.
  static let addressTypes: UInt8 = 0b110
  /// Connectable, and found by everybody who looks for devices.
  static let advertisingFlags: UInt32 = 0b11

  package var code: UInt16 {
    switch self {
    case .readAdapters: 0x0003
    case .readAdapter: 0x0004
    case .setLE: 0x000D
    case .startDiscovery: 0x0023
    case .stopDiscovery: 0x0024
    case .readAdvertising: 0x003D
    case .addAdvertising: 0x003E
    case .removeAdvertising: 0x003F
    }
  }

  package func encoded(adapter: UInt16 = ManagementEvent.noAdapter) -> [UInt8] {
    let parameters: [UInt8]
    switch self {
    case .readAdapters, .readAdapter, .readAdvertising: parameters = []
    case .setLE(let isOn): parameters = [isOn ? 1 : 0]
    case .startDiscovery, .stopDiscovery: parameters = [Self.addressTypes]
    case .addAdvertising(let instance, let data, let response):
      // Duration and timeout 0: the kernel's own turn, and no end.
      parameters =
        [instance] + Self.little(Self.advertisingFlags) + [0, 0, 0, 0]
        + [UInt8(clamping: data.count), UInt8(clamping: response.count)] + data + response
    case .removeAdvertising(let instance): parameters = [instance]
    }
    return Self.little(code) + Self.little(adapter) + Self.little(UInt16(clamping: parameters.count)) + parameters
  }

  private static func little<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    withUnsafeBytes(of: number.littleEndian) { Array($0) }
  }
}

package struct ManagementEvent: Hashable, Sendable {
  package static let headerByteCount = 6
  package static let byteLimit = 4096
  /// The number of no adapter.
  package static let noAdapter: UInt16 = 0xFFFF

  package enum Fault: Error, Hashable, Sendable {
    case truncated, tooLong, malformed
  }

  package enum Content: Hashable, Sendable {
    /// A command has been carried out, or not; and what it returns.
    case answer(command: UInt16, status: UInt8, result: [UInt8])
    case added
    case removed
    case settings(UInt32)
    case found(BLEAddress, strength: Int8?, data: [UInt8])
    case discovering(Bool)
    case other(UInt16)
  }

  package let adapter: UInt16
  package let content: Content

  package init(bytes: [UInt8]) throws(Fault) {
    guard bytes.count <= Self.byteLimit else { throw .tooLong }
    var reader = ManagementReader(bytes)
    let code = try reader.half()
    adapter = try reader.half()
    guard Int(try reader.half()) == bytes.count - Self.headerByteCount else {
      throw bytes.count < Self.headerByteCount ? .truncated : .malformed
    }
    switch code {
    case 0x0001: content = .answer(command: try reader.half(), status: try reader.byte(), result: reader.rest)
    case 0x0002:
      content = .answer(command: try reader.half(), status: try reader.byte(), result: [])
      guard reader.rest.isEmpty else { throw .malformed }
    case 0x0004: content = .added
    case 0x0005: content = .removed
    case 0x0006: content = .settings(try reader.word())
    case 0x0012:
      let address = try reader.take(BLEAddress.byteCount)
      let kind = try reader.byte()
      let strength = Int8(bitPattern: try reader.byte())
      _ = try reader.word()
      let count = Int(try reader.half())
      let data = try reader.take(count)
      guard reader.rest.isEmpty else { throw .malformed }
      guard let kind = BLEAddress.Kind(rawValue: kind), let address = BLEAddress(address, kind) else {
        content = .other(code)
        return
      }
      content = .found(address, strength: strength == 127 ? nil : strength, data: data)
    case 0x0013:
      _ = try reader.byte()
      content = .discovering(try reader.byte() != 0)
    default: content = .other(code)
    }
  }
}

package enum ManagementResult {
  static let adapterLimit = 32

  package static func adapters(_ bytes: [UInt8]) throws(ManagementEvent.Fault) -> [UInt16] {
    var reader = ManagementReader(bytes)
    let count = Int(try reader.half())
    guard count <= adapterLimit else { throw .tooLong }
    return try (0..<count).map { (_) throws(ManagementEvent.Fault) in try reader.half() }
  }

  package static func adapter(_ index: UInt16, _ bytes: [UInt8]) throws(ManagementEvent.Fault) -> BLEAdapter {
    var reader = ManagementReader(bytes)
    let address = try reader.take(BLEAddress.byteCount)
    _ = try reader.take(3)
    let supported = try reader.word()
    let current = try reader.word()
    guard let address = BLEAddress(address, .public) else { throw .malformed }
    func has(_ settings: UInt32, _ bit: UInt32) -> Bool { settings & (1 << bit) != 0 }
    return BLEAdapter(
      index: index, address: address, isOn: has(current, 0), knowsLE: has(supported, 9), hasLE: has(current, 9),
      isPrivate: has(current, 13))
  }

  /// How many advertisements an adapter can show in turn, and which numbers are taken.
  package static func advertising(
    _ bytes: [UInt8]
  ) throws(ManagementEvent.Fault) -> (limit: UInt8, taken: [UInt8]) {
    var reader = ManagementReader(bytes)
    _ = try reader.take(6)
    let limit = try reader.byte()
    let count = Int(try reader.byte())
    return (limit, try reader.take(count))
  }
}

private struct ManagementReader {
  private var bytes: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

  var rest: [UInt8] { Array(bytes) }

  mutating func take(_ count: Int) throws(ManagementEvent.Fault) -> [UInt8] {
    guard count <= bytes.count else { throw .truncated }
    defer { bytes = bytes.dropFirst(count) }
    return Array(bytes.prefix(count))
  }

  mutating func byte() throws(ManagementEvent.Fault) -> UInt8 { try take(1)[0] }

  mutating func half() throws(ManagementEvent.Fault) -> UInt16 {
    let bytes = try take(2)
    return UInt16(bytes[0]) | UInt16(bytes[1]) << 8
  }

  mutating func word() throws(ManagementEvent.Fault) -> UInt32 {
    let low = try half()
    return UInt32(low) | UInt32(try half()) << 16
  }
}
