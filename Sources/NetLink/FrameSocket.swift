import Glibc
import Sodium
import Synchronization
import WireCodec

/// One end of the socket pair: whole messages, read by one thread, written by any.
package final class FrameSocket: Sendable {
  package enum Fault: Error, Hashable {
    /// The other side has closed it, or is gone.
    case ended
    /// What comes isn't a message, or not one that may come now.
    case senseless
    /// The other side takes too long for one message.
    case silent
    case noMemory
  }

  enum Waited { case something, woken, nothing }

  private let descriptor: Int32
  private let isOfVault: Bool
  private let patience: Duration?
  private let writing = Mutex(())

  /// Takes the descriptor over. With `patience`, a message has to be whole so soon after it is read for.
  package init(_ descriptor: Int32, isOfVault: Bool, patience: Duration? = nil) {
    self.descriptor = descriptor
    self.isOfVault = isOfVault
    self.patience = patience
  }

  deinit { close(descriptor) }

  /// Lets nobody read or write any more.
  package func shutdown() { Glibc.shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// Waits for something to read, for a byte at `wake`, or for so many milliseconds.
  func wait(_ milliseconds: Int32, wake: Int32) -> Waited {
    var states = [
      pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0), pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
    ]
    guard poll(&states, 2, milliseconds) != 0 else { return .nothing }
    if states[0].revents != 0 { return .something }
    var bytes: UInt64 = 0
    _ = Glibc.read(wake, &bytes, 8)
    return .woken
  }

  /// Reads a head, and a body if `accept` takes the head.
  package func read(_ accept: (FrameHead) -> Bool) throws(Fault) -> NetFrame {
    // One for all of it: who sends byte after byte would begin a wait for each. The machine's sleep takes none of it.
    let deadline = patience.map { SuspendingClock.now + $0 }
    var bytes = [UInt8](repeating: 0, count: NetFrame.headByteCount)
    if let fault = bytes.withUnsafeMutableBytes({ fill($0, deadline) }) { throw fault }
    let head: FrameHead
    do throws(WireError) { head = try FrameHead(bytes, fromVault: !isOfVault) } catch { throw .senseless }
    guard accept(head) else { throw .senseless }
    if head.kind.isSecret {
      var secret: SecretBytes
      do throws(SodiumError) { secret = try SecretBytes(zeros: head.bodyByteCount) } catch { throw .noMemory }
      if let fault = secret.withUnsafeMutableBytes({ fill($0, deadline) }) { throw fault }
      return NetFrame(head.kind, head.id, secret: SecretBody(secret))
    }
    // Memory is taken as bytes come, not as they are announced.
    var body: [UInt8] = []
    while body.count < head.bodyByteCount {
      let start = body.count
      body.append(contentsOf: repeatElement(0, count: min(head.bodyByteCount - start, 256 << 10)))
      let fault = body.withUnsafeMutableBytes { fill(UnsafeMutableRawBufferPointer(rebasing: $0[start...]), deadline) }
      if let fault { throw fault }
    }
    return NetFrame(head.kind, head.id, body)
  }

  /// Writes one message, and waits until the system has all of it.
  package func write(_ frame: NetFrame) throws(Fault) {
    let head: [UInt8]
    do throws(WireError) { head = try FrameHead.bytes(of: frame) } catch { throw .senseless }
    let fault = writing.withLock { _ -> Fault? in
      if let fault = head.withUnsafeBytes({ send($0) }) { return fault }
      guard let secret = frame.secret else { return frame.body.withUnsafeBytes { send($0) } }
      return secret.bytes.withUnsafeBytes { send($0) }
    }
    if let fault { throw fault }
  }

  /// Reads until the buffer is full; nil then.
  private func fill(_ buffer: UnsafeMutableRawBufferPointer, _ deadline: SuspendingClock.Instant?) -> Fault? {
    let flags = deadline == nil ? 0 : Int32(MSG_DONTWAIT)
    var done = 0
    while done < buffer.count {
      if let deadline {
        var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        let left = SuspendingClock.now.duration(to: deadline) / .milliseconds(1)
        guard left > 0, poll(&state, 1, Int32(clamping: Int(left.rounded(.up)))) != 0 else { return .silent }
      }
      let count = recv(descriptor, buffer.baseAddress?.advanced(by: done), buffer.count - done, flags)
      if count < 0 && (errno == EINTR || errno == EAGAIN) { continue }
      guard count > 0 else { return .ended }
      done += count
    }
    return nil
  }

  /// Writes all; nil then.
  private func send(_ bytes: UnsafeRawBufferPointer) -> Fault? {
    var done = 0
    while done < bytes.count {
      let count = Glibc.send(descriptor, bytes.baseAddress?.advanced(by: done), bytes.count - done, Int32(MSG_NOSIGNAL))
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return .ended }
      done += count
    }
    return nil
  }
}
