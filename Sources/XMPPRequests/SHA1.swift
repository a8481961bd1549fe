/// SHA-1 (FIPS 180-4), which libsodium doesn't have and Prosody 0.12 asks for: only its use as HMAC matters here, and
/// that isn't broken. All that it keeps of the message lies in memory of the caller's, which is secret.
enum SHA1 {
  /// Bytes of memory for its schedule of words and its last blocks.
  static let workspaceByteCount = 80 * 4 + 128

  static func hash(
    _ message: UnsafePointer<UInt8>, _ count: Int, _ digest: UnsafeMutablePointer<UInt8>,
    _ workspace: UnsafeMutablePointer<UInt8>
  ) {
    let rest = workspace + 80 * 4
    return workspace.withMemoryRebound(to: UInt32.self, capacity: 80) { words in
      var state: (UInt32, UInt32, UInt32, UInt32, UInt32) = (
        0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0
      )
      let whole = count & ~63
      var place = 0
      while place < whole {
        add(message + place, words, &state)
        place += 64
      }
      // What is left, a bit, zeroes, and the length in bits.
      rest.update(repeating: 0, count: 128)
      rest.update(from: message + whole, count: count - whole)
      rest[count - whole] = 0x80
      let end = count - whole < 56 ? 64 : 128
      let bits = UInt64(truncatingIfNeeded: count) &* 8
      for byte in 0..<8 { rest[end - 1 - byte] = UInt8(truncatingIfNeeded: bits >> UInt64(8 * byte)) }
      add(rest, words, &state)
      if end == 128 { add(rest + 64, words, &state) }
      write(state.0, digest)
      write(state.1, digest + 4)
      write(state.2, digest + 8)
      write(state.3, digest + 12)
      write(state.4, digest + 16)
      words.update(repeating: 0, count: 80)
      rest.update(repeating: 0, count: 128)
    }
  }

  private static func write(_ word: UInt32, _ target: UnsafeMutablePointer<UInt8>) {
    for byte in 0..<4 { target[byte] = UInt8(truncatingIfNeeded: word >> UInt32(24 - 8 * byte)) }
  }

  private static func turn(_ word: UInt32, _ bits: UInt32) -> UInt32 { word << bits | word >> (32 - bits) }

  private static func add(
    _ block: UnsafePointer<UInt8>, _ words: UnsafeMutablePointer<UInt32>,
    _ state: inout (UInt32, UInt32, UInt32, UInt32, UInt32)
  ) {
    for place in 0..<16 {
      let byte = block + 4 * place
      words[place] = UInt32(byte[0]) << 24 | UInt32(byte[1]) << 16 | UInt32(byte[2]) << 8 | UInt32(byte[3])
    }
    for place in 16..<80 {
      words[place] = turn(words[place - 3] ^ words[place - 8] ^ words[place - 14] ^ words[place - 16], 1)
    }
    var (a, b, c, d, e) = state
    for place in 0..<80 {
      let (mixed, constant): (UInt32, UInt32) =
        switch place {
        case 0..<20: (b & c | ~b & d, 0x5A82_7999)
        case 20..<40: (b ^ c ^ d, 0x6ED9_EBA1)
        case 40..<60: (b & c | b & d | c & d, 0x8F1B_BCDC)
        default: (b ^ c ^ d, 0xCA62_C1D6)
        }
      let next = turn(a, 5) &+ mixed &+ e &+ constant &+ words[place]
      (e, d, c, b, a) = (d, c, turn(b, 30), a, next)
    }
    state = (state.0 &+ a, state.1 &+ b, state.2 &+ c, state.3 &+ d, state.4 &+ e)
  }
}
