import NIOCore
import NIOPosix
import PeerAuth

/// One TCP connection. What comes in and goes out is ciphertext.
final class TCPTransport: PeerTransport {
  /// How long ``close()`` waits for what was written to leave.
  static let lingerTime = TimeAmount.seconds(2)

  let remoteDescription: String
  let channel: any Channel
  private let stream: TCPStream
  private let admission: Admission?
  private let lingerTime: TimeAmount

  init(
    _ channel: any Channel, _ stream: TCPStream, admission: Admission? = nil,
    lingerTime: TimeAmount = TCPTransport.lingerTime
  ) {
    self.channel = channel
    self.stream = stream
    self.admission = admission
    self.lingerTime = lingerTime
    remoteDescription = channel.remoteAddress.flatMap { SystemReason.address($0)?.description } ?? "unknown"
  }

  deinit { channel.close(promise: nil) }

  /// Sets a fresh channel up; runs on its event loop, before the first byte. `opened` is told once it is connected.
  static func install(
    _ stream: TCPStream, on channel: any Channel, opened: @escaping @Sendable () -> Void = {}
  ) -> EventLoopFuture<Void> {
    channel.eventLoop.makeCompletedFuture {
      try channel.pipeline.syncOperations.addHandler(TCPStreamHandler(stream, opened: opened))
    }
  }

  func read(atMost limit: Int) async throws(TransportError) -> [UInt8] {
    while true {
      if Task.isCancelled { abort() }
      switch try stream.take(atMost: limit) {
      case .bytes(let bytes, let resumesReading):
        if resumesReading { channel.read() }
        return bytes
      case .nothingYet:
        await waitOrAbort { [stream] in stream.hasInput }
      }
    }
  }

  func write(_ bytes: [UInt8]) async throws(TransportError) {
    guard !bytes.isEmpty else { return }
    while true {
      if Task.isCancelled { abort() }
      if try stream.reserve(bytes.count) { break }
      await waitOrAbort { [stream] in stream.hasRoom(for: bytes.count) }
    }
    let promise = channel.eventLoop.makePromise(of: Void.self)
    promise.futureResult.whenComplete { [stream] _ in stream.release(bytes.count) }
    channel.writeAndFlush(channel.allocator.buffer(bytes: bytes), promise: promise)
  }

  var isFamiliar: Bool { admission?.isFamiliar ?? false }

  func reached(_ standing: PeerStanding) {
    admission?.reached(standing)
    if case .peer = standing, stream.raiseReadMark() { channel.read() }
  }

  func close() async {
    if !stream.isDrained && !Task.isCancelled {
      let timer = channel.eventLoop.scheduleTask(in: lingerTime) { [self] in abort() }
      while !stream.isDrained && !Task.isCancelled {
        await waitOrAbort { [stream] in stream.isDrained }
      }
      timer.cancel()
    }
    abort()
  }

  private func waitOrAbort(until isReady: @Sendable () -> Bool) async {
    await withTaskCancellationHandler {
      await stream.wait(until: isReady)
    } onCancel: {
      abort()
    }
  }

  private func abort() {
    stream.close()
    channel.close(promise: nil)
  }
}
