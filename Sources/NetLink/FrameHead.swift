package import WireCodec

/// What stands ahead of every body.
package struct FrameHead: Hashable, Sendable {
  package let kind: NetFrame.Kind
  package let id: UInt64
  package let bodyByteCount: Int

  /// Refuses what the other side never sends, and bodies that are longer than any of their kind.
  package init(_ bytes: [UInt8], fromVault: Bool) throws(WireError) {
    var reader = Reader(bytes.span.bytes)
    let count = try reader.u32("length")
    let number = try reader.u8("kind")
    guard let kind = NetFrame.Kind(rawValue: number), kind.isOfVault == fromVault else {
      throw .unsupported(field: "kind", value: UInt64(number))
    }
    guard count <= kind.limit else { throw .limitExceeded(field: "length", limit: kind.limit) }
    id = try reader.u64("number")
    try reader.finish()
    self.kind = kind
    bodyByteCount = Int(count)
  }

  static func bytes(of frame: NetFrame) throws(WireError) -> [UInt8] {
    try publicBytes(count: NetFrame.headByteCount) { writer throws(WireError) in
      try writer.count32(frame.byteCount - NetFrame.headByteCount)
      try writer.u8(frame.kind.rawValue)
      try writer.u64(frame.id)
    }
  }
}
