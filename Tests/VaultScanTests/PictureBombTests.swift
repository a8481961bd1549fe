import QRCode
import ScanPictures
import Testing

/// Small files that want to become large.
@Suite("vault-scan keeps within its limits when it is given")
struct PictureBombTests {
  @Test("a PNG whose rows go on behind the last one")
  func endlessPNG() throws {
    let scan = try Scan(of: png(10, 10, [("IDAT", Deflate.zeros(40 << 20))]))
    #expect([1, 2].contains(scan.status), "\(scan)")
  }

  @Test("a PNG with texts or profiles that unpack to more than a gigabyte", arguments: ["zTXt", "iTXt", "iCCP"])
  func texts(kind: String) throws {
    let packed = Deflate.zeros(8 << 20)
    let head: [UInt8] = kind == "iTXt" ? Array("bomb".utf8) + [0, 1, 0, 0, 0] : Array("bomb".utf8) + [0, 0]
    let bombs = [(String, [UInt8])](repeating: (kind, head + packed), count: kind == "iCCP" ? 1 : 150)
    let scan = try Scan(of: png(10, 10, bombs + [("IDAT", Deflate.zeros(11 * 10))]))
    #expect([1, 2].contains(scan.status), "\(scan)")
  }

  @Test("a PNG with a hundred thousand unknown chunks")
  func chunks() throws {
    let chunks = [(String, [UInt8])](repeating: ("quUx", [1, 2, 3]), count: 100_000)
    let scan = try Scan(of: png(10, 10, chunks + [("IDAT", Deflate.zeros(11 * 10))]))
    #expect([1, 2].contains(scan.status), "\(scan)")
  }

  @Test("a progressive JPEG that paints itself over and over")
  func scans() throws {
    let jpeg = Picture(try QRSymbol(text: "OVER"), scale: 4).jpeg(progressive: true)
    // The first scan lays the ground, and may be laid again; the later ones build on what they find.
    let start = try #require(jpeg.indices.dropLast().first { jpeg[$0] == 0xff && jpeg[$0 + 1] == 0xda })
    let end = try #require((start + 2..<jpeg.count - 1).first { jpeg[$0] == 0xff && jpeg[$0 + 1] != 0 })
    let again = Array(repeating: jpeg[start..<end], count: 200).joined()
    let scan = try Scan(of: Array(jpeg[..<end]) + Array(again) + Array(jpeg[end...]))
    #expect(scan.status == 2)
    #expect(scan.complaint.contains("More than 100 scans"))
  }

  private func png(_ width: UInt32, _ height: UInt32, _ chunks: [(String, [UInt8])]) -> [UInt8] {
    let header = bigEndian(width) + bigEndian(height) + [8, 0, 0, 0, 0]
    var file: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
    var (lastBody, lastChunk): ([UInt8], [UInt8]) = ([], [])
    for (kind, body) in [("IHDR", header)] + chunks + [("IEND", [])] {
      // Sums take their time; bombs are all alike.
      if lastChunk.isEmpty || body != lastBody || !lastChunk[4..<8].elementsEqual(kind.utf8) {
        let named = Array(kind.utf8) + body
        lastChunk = bigEndian(UInt32(body.count)) + named + bigEndian(CyclicSum.of(named))
        lastBody = body
      }
      file += lastChunk
    }
    return file
  }
}

/// The checksum of a PNG chunk.
enum CyclicSum {
  private static let table: [UInt32] = (0..<256).map { (byte: UInt32) -> UInt32 in
    var sum = byte
    for _ in 0..<8 { sum = sum & 1 == 1 ? (sum >> 1) ^ 0xedb8_8320 : sum >> 1 }
    return sum
  }

  static func of(_ bytes: [UInt8]) -> UInt32 {
    var sum: UInt32 = 0xffff_ffff
    for byte in bytes { sum = (sum >> 8) ^ table[Int(UInt8(truncatingIfNeeded: sum) ^ byte)] }
    return ~sum
  }
}

/// Zeros, packed 158 to 1 (RFC 1950 and 1951, fixed codes).
enum Deflate {
  static func zeros(_ count: Int) -> [UInt8] {
    var bits = Bits()
    bits.append(0b011, 3)  // The last block, with fixed codes.
    bits.append(reversed: 0b0011_0000, 8)  // A zero.
    let matches = (count - 1) / 258
    for _ in 0..<matches {
      bits.append(reversed: 0b1100_0101, 8)  // 258 bytes …
      bits.append(0, 5)  // … from one byte back.
    }
    for _ in 0..<(count - 1 - matches * 258) { bits.append(reversed: 0b0011_0000, 8) }
    bits.append(0, 7)
    // Adler's sum of so many zeros.
    let sum: UInt32 = (UInt32(count % 65521) << 16) | 1
    return [0x78, 0x01] + bits.finished + withUnsafeBytes(of: sum.bigEndian) { Array($0) }
  }

  private struct Bits {
    private var bytes: [UInt8] = []
    private var open: UInt32 = 0
    private var count: UInt32 = 0

    mutating func append(_ value: UInt32, _ length: UInt32) {
      open |= value << count
      count += length
      while count >= 8 {
        bytes.append(UInt8(truncatingIfNeeded: open))
        open >>= 8
        count -= 8
      }
    }

    mutating func append(reversed value: UInt32, _ length: UInt32) {
      var turned: UInt32 = 0
      for place in 0..<length { turned |= ((value >> place) & 1) << (length - 1 - place) }
      append(turned, length)
    }

    var finished: [UInt8] { count > 0 ? bytes + [UInt8(truncatingIfNeeded: open)] : bytes }
  }
}
