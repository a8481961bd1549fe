import Glibc
import SystemBus

/// The offers that Avahi tells of, each of which it has to be asked about. Only so many are known, and asked about at a time: others are
/// passed over until some have gone.
struct AvahiItems {
  static let limit = 256
  static let atOnce = 8

  /// An offer that was named.
  struct Item: Hashable {
    let interface: Int32
    /// Avahi's number of a family of addresses: 0 for IPv4, 1 for IPv6.
    let family: Int32
    let name: String
    let type: String
  }

  private enum State {
    case waiting
    /// By which object Avahi is asked.
    case asked(String)
    case known(LocalSighting.Key)
    case failed
  }

  private let type: String
  private var items: [Item: State] = [:]
  /// Those that are waiting, in order.
  private var queue: [Item] = []

  init(type: LocalServiceType) { self.type = type.text }

  var count: Int { items.count }

  private var asked: Int { items.values.count { if case .asked = $0 { true } else { false } } }

  /// Who is to be asked about now.
  mutating func begin() -> [Item] {
    let count = min(Self.atOnce - asked, queue.count)
    guard count > 0 else { return [] }
    defer { queue.removeFirst(count) }
    return Array(queue.prefix(count))
  }

  mutating func began(_ item: Item, at path: String) { if items[item] != nil { items[item] = .asked(path) } }
  mutating func failed(_ item: Item) { if items[item] != nil { items[item] = .failed } }

  /// What a signal of Avahi's says, and the object that isn't needed any more.
  mutating func take(_ signal: BusMessage, browser: String) -> (events: [LocalEvent], over: String?) {
    switch (signal.interface, signal.member) {
    case ("org.freedesktop.Avahi.ServiceBrowser", "ItemNew") where signal.path == browser:
      if let item = item(signal), items[item] == nil, items.count < Self.limit {
        items[item] = .waiting
        queue.append(item)
      }
      return ([], nil)
    case ("org.freedesktop.Avahi.ServiceBrowser", "ItemRemove") where signal.path == browser:
      guard let item = item(signal), let state = items.removeValue(forKey: item) else { return ([], nil) }
      queue.removeAll { $0 == item }
      switch state {
      case .known(let key): return ([.gone(key)], nil)
      case .asked(let path): return ([], path)
      case .waiting, .failed: return ([], nil)
      }
    case ("org.freedesktop.Avahi.ServiceResolver", let member):
      guard let path = signal.path, let item = self.item(askedBy: path) else { return ([], nil) }
      guard member == "Found", let sighting = sighting(signal, item) else {
        items[item] = .failed
        return ([], path)
      }
      items[item] = .known(sighting.key)
      return ([.heard(sighting)], path)
    default: return ([], nil)
    }
  }

  private func item(askedBy path: String) -> Item? {
    items.first { if case .asked(let resolver) = $0.value { resolver == path } else { false } }?.key
  }

  private func item(_ signal: BusMessage) -> Item? {
    guard signal.body.count >= 5, case .int32(let interface) = signal.body[0], interface > 0,
      case .int32(let family) = signal.body[1], (0...1).contains(family), case .text(let name) = signal.body[2],
      (1...DNSName.labelLimit).contains(name.utf8.count), signal.body[3] == .text(type),
      signal.body[4] == .text("local")
    else { return nil }
    return Item(interface: interface, family: family, name: name, type: type)
  }

  /// Only addresses of the network where it was heard: an offer could name anybody's.
  private func sighting(_ signal: BusMessage, _ item: Item) -> LocalSighting? {
    guard signal.body.count >= 10, signal.body[0] == .int32(item.interface), signal.body[2] == .text(item.name),
      case .text(let text) = signal.body[7], case .uint16(let port) = signal.body[8],
      case .array(_, let values) = signal.body[9], let address = Self.address(text),
      Self.reaches(address, on: UInt32(bitPattern: item.interface))
    else { return nil }
    var texts: [[UInt8]] = []
    for case .bytes(let bytes) in values { texts.append(bytes) }
    let key = LocalSighting.Key(
      label: Array(item.name.utf8), address: LocalAddress(bytes: address, interface: UInt32(bitPattern: item.interface))
    )
    return LocalSighting(key: key, port: port, texts: texts)
  }

  private static func reaches(_ address: [UInt8], on interface: UInt32) -> Bool {
    (LocalInterface.all() + LocalInterface.all(onlyLoopback: true)).contains {
      $0.index == interface && $0.reaches(address)
    }
  }

  private static func address(_ text: String) -> [UInt8]? {
    for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
      var bytes = [UInt8](repeating: 0, count: count)
      if inet_pton(family, text, &bytes) == 1 { return bytes }
    }
    return nil
  }
}
