import QRCode
import ScanPictures
import Testing

@Suite("vault-scan refuses with exit code 2, and never crashes on,")
struct BrokenPictureTests {
  @Test("an empty file, text, and other kinds of picture")
  func otherKinds() throws {
    for file in ["", "hello", "GIF89a\u{1}\u{0}\u{1}\u{0}", "BM", "\u{0}"] {
      let scan = try Scan(of: Array(file.utf8))
      #expect(scan.status == 2)
      #expect(scan.complaint.contains("neither PNG nor JPEG"))
      #expect(scan.output.isEmpty)
    }
  }

  @Test("a PNG cut off anywhere")
  func truncatedPNG() throws {
    let png = try QRSymbol(text: ReadingTests.card).png(scale: 2)
    for length in [8, 9, 16, 33, 40, 100, png.count / 2, png.count - 20] { try expectRefused(Array(png[..<length])) }
  }

  @Test("a JPEG cut off anywhere", arguments: [false, true])
  func truncatedJPEG(progressive: Bool) throws {
    let jpeg = Picture(try QRSymbol(text: "CUT"), scale: 4).jpeg(progressive: progressive)
    for length in [3, 4, 20, 100, 300, jpeg.count / 2, jpeg.count - 200] {
      try expectRefused(Array(jpeg[..<length]))
    }
  }

  @Test(
    "a PNG that claims to be too large",
    arguments: [
      (12_001, 1), (1, 12_001), (8_001, 8_000), (12_000, 12_000), (1_000_000, 1_000_000), (0x7fff_ffff, 0x7fff_ffff),
    ])
  func hugePNG(width: UInt32, height: UInt32) throws {
    var png = try QRSymbol(text: "HUGE").png(scale: 4)
    png.replaceSubrange(16..<24, with: bigEndian(width) + bigEndian(height))
    png.replaceSubrange(29..<33, with: bigEndian(crc32(png[12..<29])))
    let scan = try expectRefused(png)
    #expect(scan.complaint.contains("pixels") || scan.complaint.contains("IHDR"))
  }

  @Test("a JPEG that claims to be too large", arguments: [(12_001, 1), (8_001, 8_000), (65_500, 65_500)])
  func hugeJPEG(width: UInt32, height: UInt32) throws {
    var jpeg = Picture(try QRSymbol(text: "HUGE"), scale: 4).jpeg()
    let frame = try #require(jpeg.indices.dropLast().first { jpeg[$0] == 0xff && jpeg[$0 + 1] == 0xc0 })
    jpeg.replaceSubrange((frame + 5)..<(frame + 9), with: bigEndian(height)[2...] + bigEndian(width)[2...])
    let scan = try expectRefused(jpeg)
    #expect(scan.complaint.contains("\(width) x \(height) pixels"))
  }

  @Test("random bytes after a good beginning")
  func garbage() throws {
    var random = Random(state: 7)
    let beginnings: [[UInt8]] = [
      [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], [0xff, 0xd8, 0xff], [0xff, 0xd8, 0xff, 0xe0],
    ]
    for beginning in beginnings {
      for length in [1, 10, 1000] {
        try expectRefused(beginning + (0..<length).map { _ in UInt8(truncatingIfNeeded: random.next()) })
      }
    }
  }

  @Test("a file that is larger than 64 MiB, without reading it")
  func largeFile() throws {
    try expectRefused([UInt8](repeating: 0xff, count: (64 << 20) + 1), because: "larger than 64 MiB")
  }

  @Test("a file that isn't there, and a folder")
  func noFile() throws {
    #expect(try Scan(arguments: ["/nonexistent/picture.png"]).status == 2)
    #expect(try Scan(arguments: ["/"]).status == 2)
  }

  @Test("nothing at all worse than that, whichever byte is wrong")
  func mutations() throws {
    let picture = Picture(try QRSymbol(text: "MUTATED"), scale: 4)
    var random = Random(state: 11)
    for file in [try picture.png(), picture.jpeg(colour: true), picture.jpeg(progressive: true)] {
      for _ in 0..<12 {
        var damaged = file
        for _ in 0..<(1 + Int(random.next() % 4)) {
          damaged[Int(random.next() % UInt64(damaged.count))] = UInt8(truncatingIfNeeded: random.next())
        }
        let scan = try Scan(of: damaged)
        #expect([0, 1, 2].contains(scan.status))
      }
    }
  }

  @discardableResult
  private func expectRefused(_ file: [UInt8], because reason: String = "") throws -> Scan {
    let scan = try Scan(of: file)
    #expect(scan.status == 2)
    #expect(scan.output.isEmpty)
    #expect(scan.complaint.hasPrefix("vault-scan: "))
    #expect(reason.isEmpty || scan.complaint.contains(reason))
    return scan
  }
}
