/// Decrypts one payload as a stream, in constant memory, on all processors.
///
/// Body bytes are handed out as soon as their chunk has verified, but only ``finish(body:)`` tells that nothing is
/// missing: write to a temporary place and keep it only after that.
///
/// With a password layer, ``append(_:body:)`` stops behind the first chunk (``firstChunkByteCount`` bytes) and
/// ``needsPassword`` becomes true. The caller asks for the password when it likes, calls ``unlock(password:)`` as often
/// as it likes, and goes on appending where it stopped.
public struct PayloadOpener: ~Copyable, Sendable {
  var outer: ChunkOpener
  var layer: LayerParser
  var isAbandoned = false

  /// The same for a caller who has a pointer, and wants one.
  package mutating func append(
    _ ciphertext: UnsafeRawBufferPointer, body: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> Int {
    guard !isAbandoned else { throw PayloadError.abandoned }
    guard !layer.isLocked else { throw PayloadError.passwordRequired }
    isAbandoned = true
    try layer.flush(body)
    // The first chunk by itself: it tells whether the rest can be read.
    let first = min(outer.missingFromFirstChunk, ciphertext.count)
    try outer.append(ciphertext.part(0, first)) { try layer.consume($0, body: body) }
    var taken = first
    if !layer.isLocked {
      try outer.append(ciphertext.from(first)) { try layer.consume($0, body: body) }
      taken = ciphertext.count
    }
    isAbandoned = false
    return taken
  }

  /// The same for a caller who wants a pointer.
  package mutating func finishUnsafe(body: (UnsafeRawBufferPointer) throws -> Void) throws {
    _ = try append(UnsafeRawBufferPointer(start: nil, count: 0), body: body)
    guard outer.isComplete else { throw PayloadError.truncated }
    guard layer.isComplete else { throw PayloadError.damaged }
  }
}
