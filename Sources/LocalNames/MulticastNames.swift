package import Concurrency
import Glibc
import SystemBus

/// Multicast DNS by this process itself.
package struct MulticastNames: LocalNames {
  /// Between two looks at which networks there are, in milliseconds.
  private static let pause: Int64 = 10_000
  /// Messages that are read at one network before others have their turn.
  private static let turn = 32

  package let name = "multicast DNS"
  /// For tests: the networks of others are left alone.
  private let onlyLoopback: Bool
  private let port: UInt16

  package init() {
    onlyLoopback = false
    port = MulticastMachine.port
  }

  /// On this machine alone, at another port.
  init(onLoopbackAt port: UInt16) {
    onlyLoopback = true
    self.port = port
  }

  package func run(
    _ offer: LocalOffer?, type: LocalServiceType, until stop: StopSignal, ready: () -> Void,
    heard: (LocalEvent) -> Void
  ) throws(LocalNamesError) {
    guard let domain = DNSName("local"), let service = DNSName("\(type.text).local") else {
      throw .failed("the service has no name")
    }
    let party = Party(offer: offer, service: service, domain: domain)
    var lines: [Line] = []
    defer { for line in lines { line.say(line.machine.goodbye) } }
    var lookedAt = Int64.min
    var buffer = [UInt8](repeating: 0, count: DNSMessage.byteLimit + 1)
    while !stop.isRaised() {
      let now = Monotonic.milliseconds()
      if lookedAt == .min || now - lookedAt >= Self.pause {
        try attend(LocalInterface.all(onlyLoopback: onlyLoopback), party, &lines, at: now, heard)
        if lookedAt == .min { ready() }
        lookedAt = now
      }
      var next = lookedAt + Self.pause
      for line in lines {
        let (messages, events) = line.machine.due(at: now)
        for message in messages { line.say(message) }
        for event in events { line.note(event, heard) }
        next = min(next, line.machine.nextMoment)
      }
      wait(for: lines, stop, milliseconds: max(0, min(next - now, Self.pause)))
      for line in lines { line.listen(&buffer, at: Monotonic.milliseconds(), Self.turn, heard) }
    }
  }

  private func wait(for lines: [Line], _ stop: StopSignal, milliseconds: Int64) {
    var waits = [pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0)]
    waits += lines.map { pollfd(fd: $0.socket.descriptor, events: Int16(POLLIN), revents: 0) }
    _ = poll(&waits, nfds_t(waits.count), Int32(clamping: milliseconds))
  }

  /// Speaks on the networks that there are now, and no more on others. Throws if there is none.
  private func attend(
    _ interfaces: [LocalInterface], _ party: Party, _ lines: inout [Line], at now: Int64, _ heard: (LocalEvent) -> Void
  ) throws(LocalNamesError) {
    for line in lines where !interfaces.contains(line.interface) { line.forgetAll(heard) }
    lines.removeAll { !interfaces.contains($0.interface) }
    var problem: Int32?
    for interface in interfaces where !lines.contains(where: { $0.interface == interface }) {
      do throws(MulticastSocket.SocketError) {
        lines.append(Line(interface, try MulticastSocket(interface, port: port), party.machine(interface, at: now)))
      } catch { problem = error.code }
    }
    guard lines.isEmpty else { return }
    if let problem { throw .failed(String(cString: strerror(problem)).lowercased()) }
    throw .noNetwork
  }

  private struct Party {
    let offer: LocalOffer?
    let service: DNSName
    let domain: DNSName

    func machine(_ interface: LocalInterface, at now: Int64) -> MulticastMachine {
      let addresses = interface.addresses.map { interface.isSix ? DNSData.six($0.bytes) : DNSData.four($0.bytes) }
      let responder = offer.flatMap {
        MulticastResponder(
          $0, of: service, in: domain, addresses: addresses, at: now, delay: Int64.random(in: 20...120))
      }
      let browser = MulticastBrowser(service, on: interface.index, at: now, delay: Int64.random(in: 20...120))
      return MulticastMachine(responder: responder, browser: browser)
    }
  }

  /// One network, on the thread that speaks there.
  private final class Line {
    let interface: LocalInterface
    let socket: MulticastSocket
    var machine: MulticastMachine
    private var known: Set<LocalSighting.Key> = []

    init(_ interface: LocalInterface, _ socket: consuming MulticastSocket, _ machine: MulticastMachine) {
      self.interface = interface
      self.socket = socket
      self.machine = machine
    }

    func say(_ message: [UInt8]?) { if let message { socket.send(message) } }

    func listen(_ buffer: inout [UInt8], at now: Int64, _ turn: Int, _ heard: (LocalEvent) -> Void) {
      for _ in 0..<turn {
        guard let (bytes, source) = socket.receive(&buffer) else { return }
        for event in machine.take(bytes, from: source, isOwn: interface.isOwn(source), at: now) { note(event, heard) }
      }
    }

    func note(_ event: LocalEvent, _ heard: (LocalEvent) -> Void) {
      switch event {
      case .heard(let sighting): known.insert(sighting.key)
      case .gone(let key): known.remove(key)
      }
      heard(event)
    }

    /// The network is no more, nor is who was heard there.
    func forgetAll(_ heard: (LocalEvent) -> Void) {
      for key in known { heard(.gone(key)) }
      known = []
    }
  }
}
