package import Concurrency
import SystemBus

/// avahi-daemon, over the system's bus: it speaks multicast DNS for all programs of this machine (Avahi's D-Bus interface,
/// avahi-daemon/org.freedesktop.Avahi.*.xml). What it says is what anybody on the network may have said.
package struct AvahiNames: LocalNames {
  private static let service = "org.freedesktop.Avahi"
  private static let bus = "org.freedesktop.DBus"
  private static let server = service + ".Server"
  private static let group = service + ".EntryGroup"
  /// For any interface, and for addresses of both families.
  private static let any = BusValue.int32(-1)

  package let name = "avahi-daemon"
  private let paths: [String]

  package init(bus paths: [String]) { self.paths = paths }

  package static func isThere(_ paths: [String]) -> Bool {
    guard var connection = try? BusConnection.open(paths: paths) else { return false }
    let answer = try? connection.call(
      "NameHasOwner", of: bus, at: "/org/freedesktop/DBus", to: bus, [.text(service)])
    return answer?.reply.body == [.flag(true)]
  }

  package func run(
    _ offer: LocalOffer?, type: LocalServiceType, until stop: StopSignal, ready: () -> Void,
    heard: (LocalEvent) -> Void
  ) throws(LocalNamesError) {
    var connection = try open()
    let owner = try watch(&connection)
    var group: String?
    if let offer { group = try publish(offer, type, &connection) }
    let browser = try path(
      "ServiceBrowserNew", at: "/",
      [Self.any, Self.any, .text(type.text), .text("local"), .number(0)], &connection)
    ready()
    var items = AvahiItems(type: type)
    while !stop.isRaised() {
      let now = Monotonic.milliseconds()
      for item in items.begin(at: now) {
        // It may have gone meanwhile.
        guard let resolver = try resolver(item, &connection) else {
          items.failed(item, at: now)
          continue
        }
        items.began(item, at: resolver)
      }
      let signal: BusMessage?
      do throws(BusConnection.Failure) {
        signal = try connection.nextSignal(
          orInput: stop.descriptor, until: items.nextMoment(after: Monotonic.milliseconds()) ?? .max)
      } catch {
        throw .serviceGone
      }
      guard let signal else { continue }
      try check(signal, owner, group)
      // The bus checks whom a signal says to come from, but one to this connection alone comes from anybody.
      guard signal.sender == owner else { continue }
      let (events, over) = items.take(signal, browser: browser, at: Monotonic.milliseconds())
      for event in events { heard(event) }
      if let over { try call("Free", of: Self.service + ".ServiceResolver", at: over, [], &connection) }
    }
    // The end of the connection ends the rest.
    if let group { try? call("Free", of: Self.group, at: group, [], &connection) }
  }

  private func open() throws(LocalNamesError) -> BusConnection {
    do throws(BusConnection.Failure) { return try BusConnection.open(paths: paths) } catch { throw .serviceGone }
  }

  /// Who Avahi is on the bus; whoever comes in its place knows nothing of what was offered.
  private func watch(_ connection: inout BusConnection) throws(LocalNamesError) -> String {
    for rule in [
      "type='signal',sender='\(Self.bus)',interface='\(Self.bus)',member='NameOwnerChanged',arg0='\(Self.service)'",
      "type='signal',sender='\(Self.service)'",
    ] {
      do throws(BusConnection.Failure) {
        _ = try connection.call("AddMatch", of: Self.bus, at: "/org/freedesktop/DBus", to: Self.bus, [.text(rule)])
      } catch { throw Self.failure(error) }
    }
    do throws(BusConnection.Failure) {
      let (reply, _) = try connection.call(
        "GetNameOwner", of: Self.bus, at: "/org/freedesktop/DBus", to: Self.bus, [.text(Self.service)])
      guard let owner = reply.body.first?.words else { throw .misunderstood(.malformed) }
      return owner
    } catch { throw .serviceGone }
  }

  private func publish(
    _ offer: LocalOffer, _ type: LocalServiceType, _ connection: inout BusConnection
  ) throws(LocalNamesError) -> String {
    let group = try path("EntryGroupNew", at: "/", [], &connection)
    // The host is the machine as Avahi shows it anyway.
    try call(
      "AddService", of: Self.group, at: group,
      [
        Self.any, Self.any, .number(0), .text(String(decoding: offer.label, as: UTF8.self)), .text(type.text),
        .text("local"), .text(""), .uint16(offer.port), .array(of: "ay", offer.texts.map { .bytes($0) }),
      ], &connection)
    try call("Commit", of: Self.group, at: group, [], &connection)
    return group
  }

  private func resolver(
    _ item: AvahiItems.Item, _ connection: inout BusConnection
  ) throws(LocalNamesError) -> String? {
    do throws(LocalNamesError) {
      return try path(
        "ServiceResolverNew", at: "/",
        [
          .int32(item.interface), .int32(item.family), .text(item.name), .text(item.type), .text("local"),
          .int32(item.family), .number(0),
        ], &connection)
    } catch .failed {
      return nil
    } catch { throw error }
  }

  /// Calls what makes an object, and returns where that is.
  private func path(
    _ member: String, at path: String, _ body: [BusValue], _ connection: inout BusConnection
  ) throws(LocalNamesError) -> String {
    let reply = try call(member, of: Self.server, at: path, body, &connection)
    guard case .path(let made)? = reply.body.first else { throw .failed("avahi-daemon answers something else") }
    return made
  }

  @discardableResult
  private func call(
    _ member: String, of interface: String, at path: String, _ body: [BusValue], _ connection: inout BusConnection
  ) throws(LocalNamesError) -> BusMessage {
    do throws(BusConnection.Failure) {
      return try connection.call(member, of: interface, at: path, to: Self.service, body).reply
    } catch { throw Self.failure(error) }
  }

  /// Throws if Avahi is no more, or doesn't offer any more what it was given.
  private func check(_ signal: BusMessage, _ owner: String, _ group: String?) throws(LocalNamesError) {
    if signal.sender == Self.bus, signal.member == "NameOwnerChanged", signal.body.first == .text(Self.service) {
      throw .serviceGone
    }
    guard signal.sender == owner, let group, signal.path == group, signal.member == "StateChanged" else { return }
    // Somebody has the same name, or it failed.
    guard let state = signal.body.first, ![.int32(3), .int32(4)].contains(state) else {
      throw .failed("avahi-daemon does not offer this device to others")
    }
  }

  private static func failure(_ failure: BusConnection.Failure) -> LocalNamesError {
    guard case .refused(let name) = failure else { return .serviceGone }
    switch name {
    case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NoReply": return .serviceGone
    case "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.Avahi.NotPermittedError":
      return .failed("avahi-daemon does not let this user offer anything")
    default: return .failed("avahi-daemon refuses: \(name.filter { $0.isASCII && $0 > " " }.prefix(80))")
    }
  }
}
