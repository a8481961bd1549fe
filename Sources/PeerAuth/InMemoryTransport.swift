/// Two ends of a stream in memory, for simulations and tests: a bounded buffer each way, and faults on demand.
public final class InMemoryTransport: PeerTransport {
  /// Sees, changes, delays or drops what an end writes before it is buffered.
  package typealias Filter = @Sendable ([UInt8]) async -> [UInt8]

  /// `memory:first` or `memory:second`: the other end.
  public let remoteDescription: String
  private let incoming: MemoryPipe
  private let outgoing: MemoryPipe
  private let filter: Filter?

  private init(_ description: String, incoming: MemoryPipe, outgoing: MemoryPipe, filter: Filter?) {
    remoteDescription = description
    self.incoming = incoming
    self.outgoing = outgoing
    self.filter = filter
  }

  /// Two connected ends. `capacity` bytes wait each way before a write has to wait. The filters see what the first and the
  /// second end write.
  package static func pair(
    capacity: Int = 1 << 18, firstFilter: Filter? = nil, secondFilter: Filter? = nil
  ) -> (first: InMemoryTransport, second: InMemoryTransport) {
    let forth = MemoryPipe(capacity: capacity)
    let back = MemoryPipe(capacity: capacity)
    return (
      InMemoryTransport("memory:second", incoming: back, outgoing: forth, filter: firstFilter),
      InMemoryTransport("memory:first", incoming: forth, outgoing: back, filter: secondFilter)
    )
  }

  /// The next bytes, or none when the other end has closed.
  public func read(atMost: Int) async throws(TransportError) -> [UInt8] {
    try await closingIfCancelled { () async throws(TransportError) in try await incoming.read(atMost: atMost) }
  }

  /// Buffers all bytes, waiting for room.
  public func write(_ bytes: [UInt8]) async throws(TransportError) {
    let passed = await filter?(bytes) ?? bytes
    try await closingIfCancelled { () async throws(TransportError) in try await outgoing.write(passed) }
  }

  private func closingIfCancelled<Value>(
    _ operation: () async throws(TransportError) -> Value
  ) async throws(TransportError) -> Value {
    do throws(TransportError) { return try await operation() } catch {
      if Task.isCancelled { await close() }
      throw error
    }
  }

  /// Whether the other end has taken all that this one has written, and waits for more or has ended.
  package var isTaken: Bool { outgoing.isTaken }

  /// Ends this side: the other end reads what is buffered, then the end of the stream.
  public func close() async {
    outgoing.endWriting()
    incoming.endReading()
  }

  /// Breaks the line without warning: what is buffered is lost, and both ends fail.
  package func cut() {
    outgoing.break(.io("cut"))
    incoming.break(.io("cut"))
  }
}
