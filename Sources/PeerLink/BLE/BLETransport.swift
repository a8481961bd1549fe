import CShims
import Glibc
import PeerAuth
import Synchronization

/// One connection over Bluetooth LE: an L2CAP channel with credits (Bluetooth Core Specification, volume 3, part A,
/// 3.4.3), as a stream of bytes. What comes in and goes out is ciphertext.
///
/// Messages of the channel are only its packets: where one ends means nothing. The session's goodbye says that a stream
/// has ended in good order; the channel itself drops what is on its way when it is closed, so ``close()`` waits for
/// that first.
final class BLETransport: PeerTransport {
  /// Longest message that is sent, whatever the peer would take: longer ones are refused for ever by the kernel.
  static let sendLimit = 8192
  /// Longest message that is taken. The kernel lets the other side send as many packets as one such message has before
  /// it waits for leave to send more, which it gives whenever a message has come: as much room for several that are no
  /// longer than ``sendLimit`` keeps the channel busy meanwhile, and the time that a radio takes to change direction
  /// costs nothing.
  static let receiveLimit: UInt16 = 32_768
  /// How long ``close()`` waits for what was written to leave.
  private static let lingerTime = Duration.seconds(2)
  private static let glance = Duration.milliseconds(5)

  let remoteDescription: String
  private let socket: PacketSocket
  private let inbox: PacketInbox
  private let limit: Int
  /// What the system says about the socket's output while there is none.
  private let idleOutput: Int32
  private let admission: Admission?
  /// Finds out what has happened on this side, if anything.
  private let loss: @Sendable () async -> String?
  private let time: BLETime

  /// A message of more than `sendLimit` bytes would not be taken at the other end. `loss` is asked when the connection
  /// has broken whether that is because of this side.
  init(
    _ socket: PacketSocket, sendLimit: Int, description: String, admission: Admission? = nil,
    time: BLETime = .machine, loss: @escaping @Sendable () async -> String? = { nil }
  ) {
    self.socket = socket
    inbox = PacketInbox(socket)
    self.admission = admission
    self.loss = loss
    self.time = time
    limit = max(1, min(sendLimit, Self.sendLimit))
    remoteDescription = description
    idleOutput = socket.use { vault_output_state($0) }?.result ?? -1
  }

  deinit { abort() }

  func read(atMost count: Int) async throws(TransportError) -> [UInt8] {
    while true {
      if Task.isCancelled { abort() }
      let bytes: [UInt8]?
      do throws(TransportError) { bytes = try inbox.take(atMost: max(count, 1)) } catch { throw await explained(error) }
      if let bytes {
        // Whoever reads on has not been told goodbye.
        if bytes.isEmpty, let reason = await loss() { throw .lost(reason) }
        return bytes
      }
      await withTaskCancellationHandler {
        await inbox.arrival()
      } onCancel: {
        abort()
      }
    }
  }

  private func explained(_ error: TransportError) async -> TransportError {
    guard case .io = error, let reason = await loss() else { return error }
    return .lost(reason)
  }

  func write(_ bytes: [UInt8]) async throws(TransportError) {
    var rest = bytes[...]
    var refusals = 0
    while !rest.isEmpty {
      if Task.isCancelled { abort() }
      let packet = rest.prefix(limit)
      guard
        let sent = socket.use({ socket in
          packet.withUnsafeBytes { vault_send_packet(socket, $0.baseAddress, $0.count) }
        })
      else { throw .closed }
      if sent.result > 0 {
        rest = rest.dropFirst(sent.result)
        refusals = 0
        continue
      }
      guard sent.result < 0, sent.error == EAGAIN || sent.error == ENOBUFS else {
        throw await explained(.io(BLEReason.text(sent.error == 0 ? EPIPE : sent.error)))
      }
      await wait(for: POLLOUT)
      refusals += 1
      // The kernel may say that there is room and then have none.
      if refusals > 1 { try? await time.sleep(Self.glance) }
    }
  }

  var isFamiliar: Bool { admission?.isFamiliar ?? false }

  func reached(_ standing: PeerStanding) {
    if case .peer = standing { inbox.welcome() }
    admission?.reached(standing)
  }

  func close() async {
    let end = time.passed() + Self.lingerTime
    while !Task.isCancelled, time.passed() < end, !hasSent {
      do { try await time.sleep(Self.glance) } catch { break }
    }
    abort()
  }

  /// Whether nothing is on its way any more, or nobody is there to take it.
  private var hasSent: Bool {
    guard let state = socket.use({ vault_output_state($0) }) else { return true }
    guard state.result >= 0, state.result != idleOutput else { return true }
    return socket.hasHungUp
  }

  private func wait(for events: Int32) async {
    await withTaskCancellationHandler {
      await socket.wait(for: events)
    } onCancel: {
      abort()
    }
  }

  private func abort() {
    socket.close()
    inbox.wake()
    admission?.leave()
  }
}
