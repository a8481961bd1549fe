import Glibc
import SystemBus

/// The offers that Avahi tells of, each of which it has to be asked about. Only so many are known, and asked about at a time and in a minute.
/// Where there are too many, one goes that tells nothing, else one of which nothing is known yet, by lot: so whoever makes up a
/// thousand names keeps nobody out for good, and costs little.
struct AvahiItems {
  static let limit = 256
  static let atOnce = 8
  /// Questions to Avahi, of whatever offers.
  static let questionsAtOnce = 64
  static let questionsPerMinute = 60
  /// Milliseconds before one is asked about again that couldn't be told of.
  static let pause: Int64 = 60_000

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
    /// When.
    case failed(Int64)

    var isWaiting: Bool { if case .waiting = self { true } else { false } }
    var isAsked: Bool { if case .asked = self { true } else { false } }
  }

  private let type: String
  private var items: [Item: State] = [:]
  private var allowance = Allowance(atOnce: questionsAtOnce, perMinute: questionsPerMinute)

  init(type: LocalServiceType) { self.type = type.text }

  var count: Int { items.count }

  private func isDue(_ state: State, at now: Int64) -> Bool {
    switch state {
    case .waiting: true
    case .failed(let time): now - time >= Self.pause
    case .asked, .known: false
    }
  }

  /// Who is to be asked about now, by lot.
  mutating func begin(at now: Int64) -> [Item] {
    let room = Self.atOnce - items.values.count(where: \.isAsked)
    guard room > 0 else { return [] }
    return items.filter { isDue($0.value, at: now) }.keys.shuffled().prefix(room).filter { _ in allowance.take(at: now)
    }
  }

  /// When it is to be looked again whether somebody is to be asked about, if nothing is heard before; nil where nothing waits.
  func nextMoment(after now: Int64) -> Int64? {
    guard items.values.count(where: \.isAsked) < Self.atOnce else { return nil }
    let moments = items.values.compactMap { state -> Int64? in
      switch state {
      case .waiting: now
      case .failed(let time): time + Self.pause
      case .asked, .known: nil
      }
    }
    return moments.min().map { max($0, allowance.nextMoment(after: now), now + 1) }
  }

  mutating func began(_ item: Item, at path: String) { if items[item] != nil { items[item] = .asked(path) } }
  mutating func failed(_ item: Item, at now: Int64) { if items[item] != nil { items[item] = .failed(now) } }

  /// Makes room for one more; whose place that was is told if it was known. Those that are being asked about stay.
  private mutating func makeRoom() -> [LocalEvent] {
    func any(_ isMeant: (State) -> Bool) -> Item? { items.filter { isMeant($0.value) }.keys.randomElement() }
    let tellsNothing = any { if case .failed = $0 { true } else { false } }
    guard let item = tellsNothing ?? any(\.isWaiting) ?? any({ !$0.isAsked }) else { return [] }
    guard case .known(let key)? = items.removeValue(forKey: item) else { return [] }
    return [.gone(key)]
  }

  /// What a signal of Avahi's says, and the object that isn't needed any more.
  mutating func take(
    _ signal: BusMessage, browser: String, at now: Int64
  ) -> (events: [LocalEvent], over: String?) {
    switch (signal.interface, signal.member) {
    case ("org.freedesktop.Avahi.ServiceBrowser", "ItemNew") where signal.path == browser:
      guard let item = item(signal), items[item] == nil else { return ([], nil) }
      let events = items.count < Self.limit ? [] : makeRoom()
      items[item] = .waiting
      return (events, nil)
    case ("org.freedesktop.Avahi.ServiceBrowser", "ItemRemove") where signal.path == browser:
      guard let item = item(signal), let state = items.removeValue(forKey: item) else { return ([], nil) }
      switch state {
      case .known(let key): return ([.gone(key)], nil)
      case .asked(let path): return ([], path)
      case .waiting, .failed: return ([], nil)
      }
    case ("org.freedesktop.Avahi.ServiceResolver", let member):
      guard let path = signal.path, let item = self.item(askedBy: path) else { return ([], nil) }
      guard member == "Found", let sighting = sighting(signal, item) else {
        items[item] = .failed(now)
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
