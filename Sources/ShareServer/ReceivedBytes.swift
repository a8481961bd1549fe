import Glibc
import NIOCore
import NIOHTTP1

/// Stands before the parser of HTTP. It hands on a copy of what has come, which goes when nobody needs it any more, and
/// wipes the buffer that it came in: connections and TLS keep theirs and read into them again and again, so that what
/// was in one would stay there for as long as the connection lasts. And it refuses lengths of chunks that the parser
/// takes and nobody can mean.
final class ReceivedBytes: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private var lengths = ChunkLengths()
  private var isRefused = false

  static func stand(in pipeline: ChannelPipeline) throws {
    let parser = try pipeline.syncOperations.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
    try pipeline.syncOperations.addHandler(ReceivedBytes(), position: .before(parser))
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let received = unwrapInboundIn(data)
    var copy = context.channel.allocator.buffer(capacity: isRefused ? 0 : received.readableBytes)
    received.withUnsafeReadableBytes { bytes in
      if !isRefused {
        copy.writeBytes(bytes)
        isRefused = !lengths.follow(bytes)
      }
      // Nobody reads them here any more, and whoever keeps the buffer writes over them with what comes next.
      if let base = bytes.baseAddress { explicit_bzero(UnsafeMutableRawPointer(mutating: base), bytes.count) }
    }
    if copy.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(copy)) }
    if isRefused, copy.readableBytes > 0 { context.fireErrorCaught(HTTPParserError.invalidChunkSize) }
  }
}

@available(*, unavailable)
extension ReceivedBytes: Sendable {}
