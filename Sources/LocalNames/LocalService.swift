/// What this device offers to those on its networks.
package struct LocalOffer: Hashable, Sendable {
  /// The name of this one among all that offer the same, and of the host that has it. Drawn at random: it says nothing.
  package let label: [UInt8]
  package let port: UInt16
  /// What the offer says of itself (RFC 6763, section 6), each text of up to 255 bytes.
  package let texts: [[UInt8]]

  package init(port: UInt16, texts: [[UInt8]]) {
    label = (0..<16).map { _ in Array("0123456789abcdef".utf8)[Int.random(in: 0..<16)] }
    self.port = port
    self.texts = texts
  }
}

/// An address on one of this device's networks.
package struct LocalAddress: Hashable, Sendable {
  /// 4 or 16.
  package let bytes: [UInt8]
  /// The kernel's number of the interface, without which an address of one network alone, as fe80::1, leads nowhere.
  package let interface: UInt32

  package init(bytes: [UInt8], interface: UInt32) {
    self.bytes = bytes
    self.interface = interface
  }

  /// Whether an IPv6 address is one of fe80::/10, which everybody on a link has (RFC 4291, section 2.5.6).
  package static func isOfOneLink(_ bytes: some Collection<UInt8>) -> Bool {
    bytes.count == 16 && bytes.first == 0xFE && bytes.dropFirst().first.map { $0 & 0xC0 } == 0x80
  }
}

/// An offer that was heard.
package struct LocalSighting: Hashable, Sendable {
  /// What tells one from the others.
  package struct Key: Hashable, Sendable {
    package let label: [UInt8]
    package let address: LocalAddress

    package init(label: [UInt8], address: LocalAddress) {
      self.label = label
      self.address = address
    }
  }

  package let key: Key
  package let port: UInt16
  package let texts: [[UInt8]]

  package init(key: Key, port: UInt16, texts: [[UInt8]]) {
    self.key = key
    self.port = port
    self.texts = texts
  }
}

package enum LocalEvent: Hashable, Sendable {
  case heard(LocalSighting)
  /// It said that it goes, or says nothing any more.
  case gone(LocalSighting.Key)
}

package enum LocalNamesError: Error, Hashable, CustomStringConvertible {
  /// No interface is up that reaches others.
  case noNetwork
  /// Avahi is not there any more, or has begun anew.
  case serviceGone
  case failed(String)

  package var description: String {
    switch self {
    case .noNetwork: "no network is up on which others could be"
    case .serviceGone: "avahi-daemon does not answer"
    case .failed(let why): why
    }
  }
}
