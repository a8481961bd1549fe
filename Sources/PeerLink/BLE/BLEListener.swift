import CShims
import Glibc
package import PeerAuth

/// Accepts connections over Bluetooth LE at one adapter, no more than its limits allow. It needs no right.
package final class BLEListener: Sendable {
  /// How many connections may be open at once: radios carry a handful. Addresses cost nothing, so that strangers are
  /// told apart by what they have proved, as over TCP, with a register of their own: a crowd in the room keeps nobody
  /// out who comes by network. A radio's address proves nothing, so that nobody is spared for having proved itself from
  /// there, and one peer, which has at most 16 sessions, doesn't fill it.
  static let limits = {
    var limits = TCPListener.Limits(perAddress: 4, total: 64, backlog: 8)
    limits.remembersPlaces = false
    return limits
  }()
  /// Time after which accepting is tried again when the system had no descriptor left.
  private static let pause = Duration.milliseconds(200)

  /// Connections as they come; ends after ``close()``. To be consumed by one task.
  package let incoming: AsyncStream<any PeerTransport>
  package let adapter: BLEAdapter
  private let arrivals: AsyncStream<any PeerTransport>.Continuation
  private let socket: PacketSocket
  private let accepting: Task<Void, Never>

  /// Listens at an adapter, whether it is on or not.
  package init(_ adapter: BLEAdapter) throws(TransportError) {
    let socket = try BLEConnector.open(at: adapter.address, channel: VaultService.channel)
    let listening = socket.use { listen($0, Int32(Self.limits.backlog)) }
    guard let listening, listening.result == 0 else { throw .unreachable(BLEReason.text(listening?.error ?? EBADF)) }
    let register = ConnectionRegister(Self.limits)
    let (incoming, arrivals) = AsyncStream.makeStream(of: (any PeerTransport).self, bufferingPolicy: .unbounded)
    self.adapter = adapter
    self.socket = socket
    self.incoming = incoming
    self.arrivals = arrivals
    accepting = Task { await Self.accept(socket, register, arrivals) }
  }

  deinit { close() }

  /// Stops listening and ends ``incoming``. Connections that were accepted stay open.
  package func close() {
    arrivals.finish()
    socket.close()
    accepting.cancel()
  }

  private static func accept(
    _ listener: PacketSocket, _ register: ConnectionRegister,
    _ arrivals: AsyncStream<any PeerTransport>.Continuation
  ) async {
    while !Task.isCancelled {
      var bytes = [UInt8](repeating: 0, count: BLEAddress.byteCount)
      var kind: UInt8 = 0
      guard let accepted = listener.use({ vault_l2cap_accept($0, &bytes, &kind) }) else { return }
      guard accepted.result >= 0 else {
        if accepted.error == EAGAIN {
          await listener.wait(for: POLLIN)
        } else {
          try? await Task.sleep(for: pause)
        }
        continue
      }
      let socket = PacketSocket(owning: accepted.result)
      guard let address = BLEAddress(bytes, BLEAddress.Kind(rawValue: kind) ?? .random),
        let admission = register.admit(bytes, close: { socket.close() }),
        let transport = try? BLEConnector.transport(socket, address, admission: admission)
      else {
        socket.close()
        continue
      }
      arrivals.yield(transport)
    }
  }
}
