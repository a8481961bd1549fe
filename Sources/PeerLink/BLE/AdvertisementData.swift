package import PeerAuth

/// What a device shouts into the room: a list of parts, each a length, a type and bytes (Bluetooth Core Specification,
/// Supplement, part A).
package struct AdvertisementData: Hashable, Sendable {
  /// Most bytes that are looked at: an extended advertisement and the answer to a scan.
  package static let byteLimit = 1650 + 255

  package enum Fault: Error, Hashable, Sendable {
    case truncated, tooLong
  }

  /// 128-bit service UUIDs of all lists, in the order of people's writing.
  package private(set) var services: Set<[UInt8]> = []
  /// Data by 128-bit service UUID; the first of each counts.
  package private(set) var serviceData: [[UInt8]: [UInt8]] = [:]

  private static let someServices: UInt8 = 0x06
  private static let allServices: UInt8 = 0x07
  private static let dataOfService: UInt8 = 0x21
  private static let uuidByteCount = 16

  /// Reads the parts. A part of length 0 ends them: what follows is filling. Others than those above are passed over.
  package init(bytes: [UInt8]) throws(Fault) {
    guard bytes.count <= Self.byteLimit else { throw .tooLong }
    var rest = bytes[...]
    while let length = rest.popFirst(), length > 0 {
      guard rest.count >= Int(length) else { throw .truncated }
      let type = rest.removeFirst()
      let content = rest.prefix(Int(length) - 1)
      rest = rest.dropFirst(content.count)
      switch type {
      case Self.someServices, Self.allServices:
        guard content.count % Self.uuidByteCount == 0 else { throw .truncated }
        for start in stride(from: content.startIndex, to: content.endIndex, by: Self.uuidByteCount) {
          services.insert(content[start..<(start + Self.uuidByteCount)].reversed())
        }
      case Self.dataOfService:
        guard content.count >= Self.uuidByteCount else { throw .truncated }
        let service = [UInt8](content.prefix(Self.uuidByteCount).reversed())
        if serviceData[service] == nil { serviceData[service] = Array(content.dropFirst(Self.uuidByteCount)) }
      default: continue
      }
    }
  }

  package var tag: BeaconTag? { serviceData[VaultService.uuid].flatMap { BeaconTag($0) } }

  /// Data of the service. With the three bytes of flags that the kernel adds these are 29, of the 31 that every radio
  /// can send.
  package static func advertisement(of tag: BeaconTag) -> [UInt8] {
    let content = VaultService.uuid.reversed() + tag.bytes
    return [UInt8(content.count + 1), dataOfService] + content
  }

  /// The list of the service alone.
  package static let scanResponse = [UInt8(uuidByteCount + 1), allServices] + VaultService.uuid.reversed()
}

package enum VaultService {
  /// Drawn once: the same for every vault.
  package static let uuidText = "226f3fd0-f33d-499c-8e7d-93dccfba5417"
  /// In the order of people's writing.
  package static let uuid: [UInt8] = {
    let digits = uuidText.utf8.filter { $0 != UInt8(ascii: "-") }
    return stride(from: 0, to: digits.count - 1, by: 2).compactMap { place in
      UInt8(String(decoding: digits[place..<(place + 2)], as: UTF8.self), radix: 16)
    }
  }()
  /// The number of the channel where a vault answers (an LE PSM of the dynamic range, 0x80 to 0xFF).
  package static let channel: UInt16 = 0x81
}
