import Glibc

/// A network that this machine is on, in one family of addresses.
struct LocalInterface: Hashable, Sendable {
  let index: UInt32
  let isSix: Bool
  /// Own addresses, and which of their bits are the network's.
  let addresses: [Address]

  struct Address: Hashable, Sendable {
    let bytes: [UInt8]
    let mask: [UInt8]
  }

  /// Interfaces at most, the families of one counted each.
  static let limit = 32
  /// Addresses of one at most.
  private static let addressLimit = 8

  /// Whether an address is on this network: nobody else is listened to (RFC 6762, section 11).
  func reaches(_ address: [UInt8]) -> Bool {
    addresses.contains { own in
      own.bytes.count == address.count
        && zip(zip(own.bytes, address), own.mask).allSatisfy { ($0.0 ^ $0.1) & $1 == 0 }
    }
  }

  func isOwn(_ address: [UInt8]) -> Bool { addresses.contains { $0.bytes == address } }

  /// Those on which others may be. Lines from one point to another, as a tunnel's, lead to no room.
  static func all(onlyLoopback: Bool = false) -> [LocalInterface] {
    var list: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&list) == 0 else { return [] }
    defer { freeifaddrs(list) }
    var found: [Place: [Address]] = [:]
    var next = list
    while let entry = next?.pointee {
      next = entry.ifa_next
      let flags = Int(entry.ifa_flags)
      let isLoopback = flags & Int(IFF_LOOPBACK) != 0
      let isRoom = flags & Int(IFF_MULTICAST) != 0 && flags & Int(IFF_POINTOPOINT) == 0
      guard flags & Int(IFF_UP) != 0, onlyLoopback ? isLoopback : isRoom && !isLoopback,
        let address = bytes(entry.ifa_addr), let mask = bytes(entry.ifa_netmask), mask.count == address.count
      else { continue }
      let index = if_nametoindex(entry.ifa_name)
      guard index > 0 else { continue }
      found[Place(index: index, isSix: address.count == 16), default: []].append(Address(bytes: address, mask: mask))
    }
    return found.sorted { ($0.key.index, $0.key.isSix ? 1 : 0) < ($1.key.index, $1.key.isSix ? 1 : 0) }.prefix(limit)
      .map {
        LocalInterface(index: $0.key.index, isSix: $0.key.isSix, addresses: Array($0.value.prefix(addressLimit)))
      }
  }

  private struct Place: Hashable {
    let index: UInt32
    let isSix: Bool
  }

  private static func bytes(_ address: UnsafeMutablePointer<sockaddr>?) -> [UInt8]? {
    guard let address else { return nil }
    let raw = UnsafeRawPointer(address)
    switch Int32(address.pointee.sa_family) {
    case AF_INET: return withUnsafeBytes(of: raw.loadUnaligned(as: sockaddr_in.self).sin_addr) { Array($0) }
    case AF_INET6: return withUnsafeBytes(of: raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr) { Array($0) }
    default: return nil
    }
  }
}
