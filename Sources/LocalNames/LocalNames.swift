package import Concurrency
import Glibc
import SystemBus

/// A way to offer a service to those on the same network, and to hear of theirs.
package protocol LocalNames: Sendable {
  /// For people.
  var name: String { get }

  /// Offers a service, if there is one, and looks for those of a type until `stop`; waits, on a thread of its own. `ready` is called once it
  /// has begun, `heard` for whatever is heard. Throws when that can't be, or not any more.
  func run(
    _ offer: LocalOffer?, type: LocalServiceType, until stop: StopSignal, ready: () -> Void,
    heard: (LocalEvent) -> Void
  ) throws(LocalNamesError)
}

/// What is offered: a word of up to 15 letters, digits and hyphens (RFC 6335, section 5.1), over TCP.
package struct LocalServiceType: Hashable, Sendable {
  package let word: String

  package init(_ word: StaticString) { self.word = word.description }

  /// As Avahi takes it.
  var text: String { "_\(word)._tcp" }
}

package enum LocalWay {
  /// Whether there is an interface that may lead to others: without one, nobody need be asked.
  package static var isOnNetwork: Bool { !LocalInterface.all().isEmpty }

  /// Addresses at which others on the same networks may reach a port of this device, as text; those that mean nothing
  /// without an interface are left out.
  package static func addresses(port: Int) -> [String] {
    let texts: [String] = LocalInterface.all().flatMap { interface in interface.addresses.compactMap(\.text) }
    return texts.map { $0.contains(":") ? "[\($0)]:\(port)" : "\($0):\(port)" }
  }

  /// Avahi where it is on the bus: then the port of multicast DNS is its own. Else this device speaks by itself. It may wait.
  package static func find(bus: [String] = BusAddress.system) -> any LocalNames {
    AvahiNames.isThere(bus) ? AvahiNames(bus: bus) : MulticastNames()
  }
}

extension LocalInterface.Address {
  /// Nil for an address of one interface alone (RFC 4291, section 2.5.6).
  fileprivate var text: String? {
    guard !(bytes.count == 16 && bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80) else { return nil }
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard inet_ntop(bytes.count == 16 ? AF_INET6 : AF_INET, bytes, &text, socklen_t(text.count)) != nil else {
      return nil
    }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
