/// One direction of a session: the Noise cipher, and the rekeying after a fixed number of messages.
package struct SessionCipher: ~Copyable, Sendable {
  package static let rekeyInterval: UInt64 = 1 << 16
  /// Most bytes of plaintext in one frame.
  static let pieceLimit = NoiseHandshake.messageLimit - CipherState.overhead

  private var cipher: CipherState
  private let interval: UInt64

  package init(_ cipher: consuming CipherState, interval: UInt64 = rekeyInterval) {
    self.cipher = cipher
    self.interval = max(interval, 1)
  }

  mutating func seal(
    _ plaintext: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(SessionError) {
    try step(cipher.seal(plaintext, into: output))
    try step(advance())
  }

  package mutating func open(
    _ ciphertext: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(SessionError) {
    do throws(NoiseError) {
      try cipher.open(ciphertext, into: output)
      try advance()
    } catch .verificationFailed {
      throw .malformed(.invalidValue(field: "frame"))
    } catch { throw SessionError(error) }
  }

  private mutating func advance() throws(NoiseError) {
    if cipher.nonce.isMultiple(of: interval) { try cipher.rekey() }
  }

  /// Seals `plaintext` as frames of at most ``pieceLimit`` bytes each behind their lengths.
  package mutating func frames(of plaintext: UnsafeRawBufferPointer) throws(SessionError) -> [UInt8] {
    let perFrame = FrameBuffer.lengthByteCount + CipherState.overhead
    let frameCount = max(1, (plaintext.count + Self.pieceLimit - 1) / Self.pieceLimit)
    var failure: SessionError?
    let total = plaintext.count + frameCount * perFrame
    let bytes = [UInt8](unsafeUninitializedCapacity: total) { buffer, initialized in
      let output = UnsafeMutableRawBufferPointer(buffer)
      var from = 0
      var to = 0
      do throws(SessionError) {
        for _ in 0..<frameCount {
          let count = min(plaintext.count - from, Self.pieceLimit)
          let sealed = count + CipherState.overhead
          output[to] = UInt8(truncatingIfNeeded: sealed >> 8)
          output[to + 1] = UInt8(truncatingIfNeeded: sealed)
          let target = to + FrameBuffer.lengthByteCount
          try seal(
            UnsafeRawBufferPointer(rebasing: plaintext[from..<(from + count)]),
            into: UnsafeMutableRawBufferPointer(rebasing: output[target..<(target + sealed)]))
          from += count
          to = target + sealed
        }
      } catch { failure = error }
      initialized = to
    }
    if let failure { throw failure }
    return bytes
  }
}
