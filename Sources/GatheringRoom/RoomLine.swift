import PeerAuth

/// What is on its way to the other end of one connection: a room's turn never waits for a slow one.
///
/// Nothing limits how much waits here, but the gathering does: it says a few messages of 2 KiB to each of 20 guests.
final class RoomLine: Sendable {
  private let transport: any PeerTransport
  private let waiting: AsyncStream<[UInt8]>
  private let outbox: AsyncStream<[UInt8]>.Continuation

  init(_ transport: any PeerTransport) {
    self.transport = transport
    (waiting, outbox) = AsyncStream.makeStream()
  }

  func say(_ bytes: [UInt8]) { outbox.yield(bytes) }

  /// Closes the connection once all that was said is out.
  func hangUp() { outbox.finish() }

  /// Carries what is said, and closes the connection at its end.
  func carry() async {
    do throws(TransportError) {
      for await bytes in waiting { try await transport.write(bytes) }
    } catch {}
    await transport.close()
  }

  /// The next bytes; nil when nothing more comes.
  func hear() async -> [UInt8]? {
    guard let bytes = try? await transport.read(atMost: 4096), !bytes.isEmpty else { return nil }
    return bytes
  }
}
