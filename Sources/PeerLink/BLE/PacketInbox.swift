import CShims
import Glibc
import PeerAuth
import Synchronization

/// What has come over a channel of Bluetooth LE and was not read yet.
///
/// It is taken from the kernel as soon as it is there, by the thread of ``DescriptorWatch``, whether somebody wants it
/// or not: the kernel allows the other side to go on sending whenever it has received something, not when it was read,
/// and drops what finds no room in the socket (`l2cap_sock_recv_cb` of Linux 6.1, with the credits of LE). Bytes in the
/// middle of a stream would be missing.
final class PacketInbox: Sendable {
  /// Most bytes that are kept for whoever has proved that it is a peer. More than a transfer over Bluetooth has, as a
  /// rule; what comes behind it waits in the kernel, as long as there is room.
  static let limit = 8 << 20
  /// The same before the proof: a handshake is smaller.
  static let strangerLimit = 64 << 10
  /// Room that is asked for in the kernel, which gives what the system allows.
  private static let kernelRoom: Int32 = 1 << 20
  /// Room for any message that the channel could carry: what finds none would be lost.
  private static let room = 1 << 16

  private struct State {
    /// What was read of it already stays for a while, so that not all is moved each time.
    var bytes: [UInt8] = []
    var start = 0
    var limit = PacketInbox.strangerLimit
    /// How it ended: empty reads in good order, else an error, once.
    var end: TransportError??
    var isAttended = false
    var reader: (id: UInt64, continuation: CheckedContinuation<Void, Never>)?
    var lastID: UInt64 = 0
    var cancelled: UInt64?

    var count: Int { bytes.count - start }

    mutating func take(atMost limit: Int) -> [UInt8] {
      let end = start + min(limit, count)
      let taken = Array(bytes[start..<end])
      start = end
      if start == bytes.count {
        bytes = []
        start = 0
      } else if start > PacketInbox.room, start > count {
        bytes.removeFirst(start)
        start = 0
      }
      return taken
    }
  }

  private let socket: PacketSocket
  private let state = Mutex(State())

  init(_ socket: PacketSocket) {
    self.socket = socket
    _ = socket.use { descriptor in
      var room = Self.kernelRoom
      return setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
    }
    attend()
  }

  /// The other side is a peer.
  func welcome() {
    state.withLock { $0.limit = Self.limit }
    attend()
  }

  /// What there is: bytes, none at the end, or nil if there is nothing yet.
  func take(atMost count: Int) throws(TransportError) -> [UInt8]? {
    let outcome = state.withLock { state -> Result<[UInt8]?, TransportError> in
      if socket.isClosed { return .failure(.closed) }
      if state.count > 0 { return .success(state.take(atMost: count)) }
      switch state.end {
      case .none: return .success(nil)
      case .some(.none): return .success([])
      case .some(.some(let error)):
        state.end = .some(.none)
        return .failure(error)
      }
    }
    let bytes = try outcome.get()
    attend()
    return bytes
  }

  /// Waits until there is something to take, the socket is closed or the task cancelled. One at a time waits.
  func arrival() async {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isThere = state.withLock { state in
          let isOver = state.cancelled == id || state.end != nil || state.count > 0 || socket.isClosed
          if !isOver {
            state.reader?.continuation.resume()
            state.reader = (id, continuation)
          }
          return isOver
        }
        if isThere { continuation.resume() }
      }
    } onCancel: {
      state.withLock { state in
        guard state.reader?.id == id else {
          state.cancelled = id
          return
        }
        state.reader?.continuation.resume()
        state.reader = nil
      }
    }
  }

  /// The socket was closed here: nobody waits any more.
  func wake() {
    state.withLock { state in
      state.reader?.continuation.resume()
      state.reader = nil
    }
  }

  /// Has what comes taken from the kernel, if there is room and nobody does.
  private func attend() {
    let isDue = state.withLock { state in
      guard !state.isAttended, state.end == nil, state.count < state.limit else { return false }
      state.isAttended = true
      return true
    }
    guard isDue, !socket.attend({ [weak self] in self?.fill() ?? false }), !socket.isClosed else { return }
    finish(.io("this machine has no thread left"))
  }

  /// Takes what there is; false if that is enough.
  private func fill() -> Bool {
    while true {
      switch receive() {
      case .failure(let error):
        finish(error)
        return false
      case .success(let packet?) where packet.isEmpty:
        finish(nil)
        return false
      case .success(nil): return true
      case .success(let packet?):
        let hasRoom = state.withLock { state in
          state.bytes += packet
          state.isAttended = state.count < state.limit
          return state.isAttended
        }
        wake()
        guard hasRoom else { return false }
      }
    }
  }

  private func finish(_ error: TransportError?) {
    state.withLock { state in
      state.end = .some(error)
      state.isAttended = false
    }
    wake()
  }

  /// The next message; empty at the end, nil if there is none yet.
  private func receive() -> Result<[UInt8]?, TransportError> {
    var hasSeenEnd = false
    var isBroken = false
    while true {
      var error: Int32 = 0
      var isOpen = true
      let packet = withUnsafeTemporaryAllocation(byteCount: Self.room, alignment: 1) { buffer in
        let got = socket.use { vault_receive_packet($0, buffer.baseAddress, Self.room) }
        isOpen = got != nil
        error = (got?.result ?? -1) < 0 ? got?.error ?? 0 : 0
        return Array(buffer.prefix(max(0, got?.result ?? 0)))
      }
      guard isOpen else { return .failure(.closed) }
      if !packet.isEmpty { return .success(packet) }
      if error == EAGAIN {
        if isBroken { return .success([]) }
        // Whoever writes may have been told of the end; it is told only once.
        guard socket.hasHungUp else { return .success(nil) }
        isBroken = true
        continue
      }
      if error != 0 {
        guard BLEReason.ends.contains(error) else { return .failure(.io(BLEReason.text(error))) }
        isBroken = true
      }
      // The kernel tells of the end before it hands out what came before that. And an empty message is none.
      if hasSeenEnd { return .success([]) }
      hasSeenEnd = true
    }
  }
}
