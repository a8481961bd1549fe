func bigEndian(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

/// The checksum of PNG.
func crc32(_ bytes: ArraySlice<UInt8>) -> UInt32 {
  ~bytes.reduce(0xffff_ffff) { sum, byte in
    (0..<8).reduce(sum ^ UInt32(byte)) { sum, _ in sum & 1 == 1 ? sum >> 1 ^ 0xedb8_8320 : sum >> 1 }
  }
}
