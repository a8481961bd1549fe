import Glibc

/// The socket of multicast DNS on one network. It is bound to the group, which no router forwards to: what comes is from the network itself,
/// and nothing that is sent to this device alone gets here.
struct MulticastSocket: ~Copyable {
  private static let groups: (four: [UInt8], six: [UInt8]) = (
    [224, 0, 0, 251], [0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfb]
  )

  let descriptor: Int32
  private let interface: LocalInterface
  private let port: UInt16

  /// Nil, and the system's error, if the network can't be used like that.
  init(_ interface: LocalInterface, port: UInt16) throws(SocketError) {
    let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    descriptor = socket(interface.isSix ? AF_INET6 : AF_INET, kind, 0)
    self.interface = interface
    self.port = port
    guard descriptor >= 0 else { throw SocketError(code: errno) }
    // Others on this machine speak it as well.
    try set(SOL_SOCKET, SO_REUSEADDR, Int32(1))
    try set(SOL_SOCKET, SO_REUSEPORT, Int32(1))
    let index = Int32(truncatingIfNeeded: interface.index)
    if interface.isSix {
      try set(Self.six, IPV6_V6ONLY, Int32(1))
      try bind()
      var membership = ipv6_mreq()
      withUnsafeMutableBytes(of: &membership.ipv6mr_multiaddr) { $0.copyBytes(from: Self.groups.six) }
      membership.ipv6mr_interface = interface.index
      try set(Self.six, IPV6_JOIN_GROUP, membership)
      try set(Self.six, IPV6_MULTICAST_IF, index)
      try set(Self.six, IPV6_MULTICAST_HOPS, Int32(255))
      try set(Self.six, IPV6_MULTICAST_LOOP, Int32(1))
    } else {
      try bind()
      var membership = ip_mreqn()
      withUnsafeMutableBytes(of: &membership.imr_multiaddr) { $0.copyBytes(from: Self.groups.four) }
      withUnsafeMutableBytes(of: &membership.imr_address) { $0.copyBytes(from: interface.addresses.first?.bytes ?? []) }
      membership.imr_ifindex = index
      try set(Self.four, IP_ADD_MEMBERSHIP, membership)
      // Not what comes by other interfaces.
      try set(Self.four, Self.allMemberships, Int32(0))
      try set(Self.four, IP_MULTICAST_IF, membership)
      try set(Self.four, IP_MULTICAST_TTL, Int32(255))
      try set(Self.four, IP_MULTICAST_LOOP, Int32(1))
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  struct SocketError: Error { let code: Int32 }

  private static let four = Int32(IPPROTO_IP)
  private static let six = Int32(IPPROTO_IPV6)
  /// IP_MULTICAST_ALL, of <linux/in.h>.
  private static let allMemberships: Int32 = 49

  private borrowing func set<Value>(_ level: Int32, _ option: Int32, _ value: Value) throws(SocketError) {
    var value = value
    guard setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Value>.size)) == 0 else {
      throw SocketError(code: errno)
    }
  }

  private borrowing func bind() throws(SocketError) {
    let outcome = withGroup { Glibc.bind(descriptor, $0, $1) }
    guard outcome == 0 else { throw SocketError(code: errno) }
  }

  private borrowing func withGroup<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    func call<Address>(_ address: Address) -> Result {
      withUnsafePointer(to: address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<Address>.size)) }
      }
    }
    if interface.isSix {
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = port.bigEndian
      address.sin6_scope_id = interface.index
      withUnsafeMutableBytes(of: &address.sin6_addr) { $0.copyBytes(from: Self.groups.six) }
      return call(address)
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    withUnsafeMutableBytes(of: &address.sin_addr) { $0.copyBytes(from: Self.groups.four) }
    return call(address)
  }

  /// Sends to all. What can't be sent is lost, as anything may be on a network.
  borrowing func send(_ bytes: [UInt8]) {
    _ = withGroup { sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, $1) }
  }

  /// The next message, and the address on this network that it came from; nil if there is none. Others' are passed over, up to a number.
  borrowing func receive(_ buffer: inout [UInt8]) -> (bytes: [UInt8], source: [UInt8])? {
    let capacity = buffer.count
    for _ in 0..<64 {
      var storage = sockaddr_storage()
      var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
      let count = withUnsafeMutablePointer(to: &storage) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          recvfrom(descriptor, &buffer, capacity, Int32(MSG_TRUNC), $0, &length)
        }
      }
      guard count >= 0 else { return nil }
      // One that is longer than any may be is no message.
      guard count <= DNSMessage.byteLimit, let source = source(storage), interface.reaches(source) else { continue }
      return (Array(buffer[..<count]), source)
    }
    return nil
  }

  /// Who doesn't speak from the port of multicast DNS wants an answer of another kind (RFC 6762, section 6.7), which nobody gets here.
  private borrowing func source(_ storage: sockaddr_storage) -> [UInt8]? {
    withUnsafeBytes(of: storage) { raw in
      if interface.isSix {
        let address = raw.loadUnaligned(as: sockaddr_in6.self)
        guard Int32(address.sin6_family) == AF_INET6, address.sin6_port == port.bigEndian,
          address.sin6_scope_id == 0 || address.sin6_scope_id == interface.index
        else { return nil }
        return withUnsafeBytes(of: address.sin6_addr) { Array($0) }
      }
      let address = raw.loadUnaligned(as: sockaddr_in.self)
      guard Int32(address.sin_family) == AF_INET, address.sin_port == port.bigEndian else { return nil }
      return withUnsafeBytes(of: address.sin_addr) { Array($0) }
    }
  }
}
