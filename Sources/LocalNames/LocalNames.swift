package import Concurrency
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

  /// Addresses of this device at which others on the same networks may reach it; those that mean nothing without an
  /// interface are left out.
  package static var addresses: [LocalAddress] {
    LocalInterface.all().flatMap { interface in
      interface.addresses.map { LocalAddress(bytes: $0.bytes, interface: interface.index) }
    }.filter { !LocalAddress.isOfOneLink($0.bytes) }
  }

  /// Avahi where it is on the bus: then the port of multicast DNS is its own. Else this device speaks by itself. It may wait.
  package static func find(bus: [String] = BusAddress.system) -> any LocalNames {
    AvahiNames.isThere(bus) ? AvahiNames(bus: bus) : MulticastNames()
  }
}
