import CShims
import Concurrency
import Glibc
package import PeerAuth

package struct BLEConnector: Sendable {
  private static let lossLooks = 4
  private static let lossPause = Duration.milliseconds(150)
  private let connectTimeout: Duration

  /// The kernel itself looks for an absent device for 40 seconds.
  package init(connectTimeout: Duration = .seconds(12)) { self.connectTimeout = connectTimeout }

  /// Connects by way of an adapter, which should not be looking for devices meanwhile: the kernel waits until that is
  /// over.
  ///
  /// Throws ``PeerAuth/TransportError/unreachable(_:)`` with a reason, `.timedOut` after the connect timeout, and
  /// `.closed` if the task is cancelled.
  package func connect(_ address: BLEAddress, by adapter: BLEAdapter) async throws(TransportError) -> any PeerTransport
  {
    try await withDeadline(connectTimeout, sleeper: { try await Task.sleep(for: $0) }) {
      () async throws(TransportError) in
      try await Self.attempt(address, adapter)
    }
  }

  private static func attempt(
    _ address: BLEAddress, _ adapter: BLEAdapter
  ) async throws(TransportError) -> any PeerTransport {
    let socket = try open(at: adapter.address, channel: 0)
    let begun = socket.use { descriptor in
      address.bytes.withUnsafeBufferPointer { bytes in
        bytes.baseAddress.map { vault_l2cap_connect(descriptor, $0, address.kind.rawValue, VaultService.channel) } ?? -1
      }
    }
    guard let begun, begun.result == 0 || begun.error == EINPROGRESS else {
      throw .unreachable(BLEReason.text(begun?.error ?? EBADF))
    }
    if begun.result != 0 {
      await withTaskCancellationHandler {
        await socket.wait(for: POLLOUT)
      } onCancel: {
        socket.close()
      }
    }
    guard !Task.isCancelled, let failure = socket.use({ vault_socket_error($0) }) else {
      socket.close()
      throw .closed
    }
    guard failure.result == 0 else { throw .unreachable(BLEReason.text(failure.result)) }
    return try transport(socket, address, loss: { await loss(of: adapter) })
  }

  /// Why an adapter that has just carried something doesn't any more, if it was switched off or taken out. The kernel
  /// ends the connections first and says why a moment later.
  private static func loss(of adapter: BLEAdapter) async -> String? {
    for look in 0..<lossLooks {
      if look > 0 { do { try await Task.sleep(for: lossPause) } catch { return nil } }
      let found = await WaitingThread.run { try? BLEEquipment.adapters() }
      guard let found else { return nil }
      guard let now = found.first(where: { $0.address == adapter.address }) else {
        return "the Bluetooth adapter \(adapter.name) has gone"
      }
      if !now.isOn { return "the Bluetooth adapter \(adapter.name) is off" }
    }
    return nil
  }

  static func transport(
    _ socket: PacketSocket, _ address: BLEAddress, admission: Admission? = nil,
    loss: @escaping @Sendable () async -> String? = { nil }
  ) throws(TransportError) -> BLETransport {
    let limit = socket.use { vault_l2cap_send_limit($0) }
    guard let limit, limit.result > 0 else { throw .unreachable(BLEReason.text(limit?.error ?? ENOTCONN)) }
    return BLETransport(
      socket, sendLimit: Int(limit.result), description: PeerPlace.bluetoothPrefix + address.description,
      admission: admission, loss: loss)
  }
  /// A socket at an adapter, with the channel's number if it is to listen.
  static func open(at adapter: BLEAddress, channel: UInt16) throws(TransportError) -> PacketSocket {
    let descriptor = vault_l2cap_socket()
    guard descriptor >= 0 else { throw .unreachable(BLEReason.text(errno)) }
    let socket = PacketSocket(owning: descriptor)
    let bound = socket.use { descriptor in
      adapter.bytes.withUnsafeBufferPointer { bytes in
        bytes.baseAddress.map { vault_l2cap_bind(descriptor, $0, adapter.kind.rawValue, channel) } ?? -1
      }
    }
    guard let bound, bound.result == 0 else { throw .unreachable(BLEReason.text(bound?.error ?? EBADF)) }
    let limited = socket.use { vault_l2cap_set_receive_limit($0, BLETransport.receiveLimit) }
    guard let limited, limited.result == 0 else { throw .unreachable(BLEReason.text(limited?.error ?? EBADF)) }
    return socket
  }
}
