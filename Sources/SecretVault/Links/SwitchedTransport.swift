import PeerAuth
import Synchronization

/// A Bluetooth connection that ends when the user switches Bluetooth off.
final class SwitchedTransport: PeerTransport {
  /// Shown to people.
  static let reason = "Bluetooth was switched off here"

  private let transport: any PeerTransport
  private let isOff = Atomic(false)
  private let watch = Mutex<Task<Void, Never>?>(nil)

  /// `off` returns when Bluetooth is switched off, or throws when it is cancelled.
  init(_ transport: any PeerTransport, until off: @escaping @Sendable () async throws -> Void) {
    self.transport = transport
    let task = Task { [weak self] in
      do { try await off() } catch { return }
      await self?.end()
    }
    watch.withLock { $0 = task }
  }

  deinit { stopWatching() }

  var remoteDescription: String { transport.remoteDescription }
  var isFamiliar: Bool { transport.isFamiliar }

  func read(atMost limit: Int) async throws(TransportError) -> [UInt8] {
    let bytes: [UInt8]
    do { bytes = try await transport.read(atMost: limit) } catch {
      throw isOff.load(ordering: .relaxed) ? .lost(Self.reason) : error
    }
    if bytes.isEmpty, isOff.load(ordering: .relaxed) { throw .lost(Self.reason) }
    return bytes
  }

  func write(_ bytes: [UInt8]) async throws(TransportError) {
    do { try await transport.write(bytes) } catch {
      throw isOff.load(ordering: .relaxed) ? .lost(Self.reason) : error
    }
  }

  func close() async {
    stopWatching()
    await transport.close()
  }

  func reached(_ standing: PeerStanding) { transport.reached(standing) }

  private func end() async {
    isOff.store(true, ordering: .relaxed)
    await transport.close()
  }

  private func stopWatching() { watch.withLock { $0 }?.cancel() }
}
