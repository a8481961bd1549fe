import Foundation
import QRCode
import ScanPictures
import Testing

@testable import VaultScan

@Suite("vault-scan --strip")
struct StrippingTests {
  private static let place = Array("N 48.2082 E 16.3738".utf8)

  /// What a camera says: that the picture is to be turned, and where it was taken.
  private static func exif(turn: UInt8, isLittleEndian: Bool = false) -> [UInt8] {
    let numbers: [UInt8] =
      isLittleEndian
      ? [
        0x49, 0x49, 42, 0, 8, 0, 0, 0, 2, 0, 0x0F, 0x01, 2, 0, 1, 0, 0, 0, 65, 0, 0, 0, 0x12, 0x01, 3, 0, 1, 0, 0, 0,
        turn, 0, 0, 0,
      ]
      : [
        0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 2, 0x01, 0x0F, 0, 2, 0, 0, 0, 1, 65, 0, 0, 0, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0,
        turn, 0, 0,
      ]
    return numbers + [0, 0, 0, 0] + place
  }

  private static func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
    [0xFF, marker, UInt8((content.count + 2) >> 8), UInt8((content.count + 2) & 255)] + content
  }

  private static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
    let named = Array(name.utf8) + content
    return bigEndian(UInt32(content.count)) + named + bigEndian(crc32(named[...]))
  }

  private static func block(_ name: String, _ content: [UInt8]) -> [UInt8] {
    Array(name.utf8) + bigEndian(UInt32(content.count)).reversed() + content + (content.count % 2 == 1 ? [0] : [])
  }

  private static func webP(_ blocks: [[UInt8]]) -> [UInt8] {
    let content = Array("WEBP".utf8) + blocks.flatMap { $0 }
    return Array("RIFF".utf8) + bigEndian(UInt32(content.count)).reversed() + content
  }

  /// What the program says is to be kept.
  private func stripped(_ file: [UInt8]) throws -> [UInt8] {
    let scan = try Scan.withFile(file) { path in try Scan(arguments: ["--strip", "-"], input: path) }
    try #require(scan.status == 0, "\(scan.complaint)")
    var lines = scan.output.split(separator: "\n").map { $0.split(separator: " ") }
    #expect(lines.removeFirst() == ["size", "\(file.count)"])
    #expect(lines.removeLast().first == "removed")
    let kept = try lines.flatMap { words -> [UInt8] in
      try #require(words.count == 3)
      if words[0] == "keep", let offset = Int(words[1]), let count = Int(words[2]) {
        return Array(file[offset..<(offset + count)])
      }
      let bytes = try #require(Data(base64Encoded: String(words[2])))
      #expect(words[0] == "put" && words[1] == "\(bytes.count)")
      return Array(bytes)
    }
    #expect(try StrippingPlan(file: file).apply(to: file) == kept)
    // What is stripped is stripped.
    #expect(try StrippingPlan(file: kept).apply(to: kept) == kept)
    return kept
  }

  private func holds(_ file: [UInt8], _ needle: [UInt8] = place) -> Bool { Data(file).range(of: Data(needle)) != nil }

  @Test(
    "leaves out of a JPEG where it was taken and all else that is said, and keeps how it is turned",
    arguments: [false, true])
  func jpeg(progressive: Bool) throws {
    let plain = Picture(try QRSymbol(text: "PHOTO"), scale: 4).jpeg(progressive: progressive)
    let words = [
      Self.segment(0xE1, Array("Exif\0\0".utf8) + Self.exif(turn: 6)),
      Self.segment(0xE1, Array("http://ns.adobe.com/xap/1.0/\0".utf8) + Self.place),
      Self.segment(0xED, Array("Photoshop 3.0\0".utf8) + Self.place), Self.segment(0xFE, Self.place),
      Self.segment(0xE2, Array("MPF\0".utf8) + Self.place), Self.segment(0xE0, Array("JFXX\0".utf8) + Self.place),
    ]
    let profile = Self.segment(0xE2, Array("ICC_PROFILE\0".utf8) + [1, 1, 7, 7, 7])
    let file = plain[..<2] + words.flatMap { $0 } + profile + plain[2...] + Self.place
    let kept = try stripped(Array(file))
    #expect(!holds(kept) && holds(kept, profile) && holds(kept, [0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 6]))
    #expect(try GrayImage(file: kept) == GrayImage(file: plain))
    // One that says nothing stays as it is.
    #expect(try stripped(plain) == plain)
    // Turned by 1 it isn't turned.
    let upright =
      plain[..<2] + Self.segment(0xE1, Array("Exif\0\0".utf8) + Self.exif(turn: 1, isLittleEndian: true)) + plain[2...]
    #expect(try stripped(Array(upright)) == plain)
    let left =
      plain[..<2] + Self.segment(0xE1, Array("Exif\0\0".utf8) + Self.exif(turn: 8, isLittleEndian: true)) + plain[2...]
    #expect(try holds(stripped(Array(left)), [0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 8]))
  }

  @Test("leaves out of a JPEG a small picture of it, and what stands behind the words that decoders read")
  func smallPicture() throws {
    let plain = Picture(try QRSymbol(text: "PHOTO"), scale: 4).jpeg(progressive: false)
    let words = try #require(Data(plain).range(of: Data([0xFF, 0xE0, 0, 16] + Array("JFIF\0".utf8))))
    #expect(words == 2..<11)
    let thumbnail = Self.segment(0xE0, Array(plain[6..<18]) + [7, 1] + Self.place + [0])
    let adobe = Array("Adobe".utf8) + [0, 100, 0, 0, 0, 0, 1]
    let file =
      plain[..<2] + thumbnail + Self.segment(0xE0, Array(plain[6..<20]) + Self.place)
      + Self.segment(0xEE, adobe + Self.place) + Self.segment(0xC8, Self.place) + plain[20...]
    let kept = try stripped(Array(file))
    #expect(kept == Array(plain[..<20] + Self.segment(0xEE, adobe) + plain[20...]))
  }

  @Test("refuses what is kept whole if there is more in it than a picture")
  func crammed() throws {
    let frame = [UInt8](repeating: 0, count: 16) + Self.block("VP8L", [1, 2, 3])
    let header = Self.block("VP8X", [0x02, 0, 0, 0, 9, 0, 0, 9, 0, 0])
    let moving = Self.webP([header, Self.block("ANIM", [0, 0, 0, 0, 0, 0]), Self.block("ANMF", frame)])
    #expect(try stripped(moving) == moving)
    let crammed = [
      Self.webP([header, Self.block("ANMF", frame + Self.block("EXIF", Self.place))]),
      Self.webP([Self.block("VP8X", [0, 0, 0, 0, 9, 0, 0, 9, 0, 0] + Self.place), Self.block("VP8 ", [1, 2])]),
      Array(try QRSymbol(text: "PHOTO").png(scale: 1).dropLast(12)) + Self.chunk("IEND", Self.place),
    ]
    for file in crammed { #expect(throws: ScanError.self) { try StrippingPlan(file: file) } }
  }

  @Test("leaves out of a PNG what is said, and what follows its end")
  func png() throws {
    let plain = try QRSymbol(text: "PHOTO").png(scale: 4)
    let words = [
      Self.chunk("eXIf", Self.exif(turn: 3)), Self.chunk("tEXt", Array("Location\0".utf8) + Self.place),
      Self.chunk("iTXt", Self.place), Self.chunk("tIME", [7, 234, 11, 23, 1, 1, 1]), Self.chunk("prIv", Self.place),
    ]
    let file = plain[..<33] + words.flatMap { $0 } + plain[33...] + Self.place
    let kept = try stripped(Array(file))
    #expect(
      !holds(kept)
        && holds(
          kept,
          Self.chunk(
            "eXIf",
            [
              0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 3, 0, 0, 0, 0, 0, 0,
            ]))
    )
    #expect(try GrayImage(file: kept) == GrayImage(file: plain))
    #expect(try stripped(plain) == plain)
    // How it is turned may stand behind the picture.
    let behind = try stripped(plain.dropLast(12) + words[0] + words[1] + plain.suffix(12))
    let turn = try #require(Data(kept).range(of: Data("eXIf".utf8)))
    let block = kept[(turn.lowerBound - 4)..<(turn.lowerBound + 34)]
    #expect(behind == plain.dropLast(12) + block + plain.suffix(12))
    let unknown = Array(plain[..<33]) + Self.chunk("NEED", [1]) + plain[33...]
    #expect(throws: ScanError.self) { try StrippingPlan(file: unknown) }
  }

  @Test("leaves out of a WebP what is said, and mends its header")
  func webP() throws {
    let header = Self.block("VP8X", [0x2C, 0, 0, 0, 9, 0, 0, 9, 0, 0])
    let image = Self.block("VP8 ", [UInt8](repeating: 7, count: 33))
    let said = [Self.block("EXIF", Self.exif(turn: 5)), Self.block("XMP ", Self.place)]
    let profile = Self.block("ICCP", [1, 2, 3])
    let kept = try stripped(Self.webP([header, profile, image] + said) + Self.place)
    let turn = Self.block(
      "EXIF",
      [
        0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 5, 0, 0, 0, 0, 0, 0,
      ])
    #expect(kept == Self.webP([Self.block("VP8X", [0x28, 0, 0, 0, 9, 0, 0, 9, 0, 0]), profile, image, turn]))
    let unturned = try stripped(Self.webP([header, image, said[1]]))
    #expect(unturned == Self.webP([Self.block("VP8X", [0x20, 0, 0, 0, 9, 0, 0, 9, 0, 0]), image]))
    let simple = Self.webP([image])
    #expect(try stripped(simple) == simple)
    #expect(try stripped(Self.webP([image, said[1]])) == simple)
  }

  @Test("refuses what is cut off or isn't what it says, and never crashes")
  func broken() throws {
    let jpeg = Picture(try QRSymbol(text: "CUT"), scale: 2).jpeg()
    let exif = Array(jpeg[..<2]) + Self.segment(0xE1, Array("Exif\0\0".utf8) + Self.exif(turn: 6)) + jpeg[2...]
    let png = try QRSymbol(text: "CUT").png(scale: 2)
    let webP = Self.webP([Self.block("VP8 ", [1, 2, 3]), Self.block("EXIF", Self.exif(turn: 5))])
    for file in [exif, png, webP] {
      for length in 0..<file.count {
        #expect(throws: ScanError.self) { try StrippingPlan(file: Array(file[..<length])) }
      }
      var random = Random(state: 11)
      for _ in 0..<3000 {
        var other = file
        for _ in 0..<3 { other[Int(random.next() % UInt64(other.count))] = UInt8(truncatingIfNeeded: random.next()) }
        guard let plan = try? StrippingPlan(file: other) else { continue }
        let kept = plan.apply(to: other)
        #expect(try StrippingPlan(file: kept).apply(to: kept) == kept)
      }
    }
    for kind in ["GIF89a\u{1}\u{0}", "", "hello", "\u{0}\u{0}\u{0}\u{18}ftypheic"] {
      let scan = try Scan.withFile(Array(kind.utf8)) { path in try Scan(arguments: ["--strip", path]) }
      #expect(
        scan.status == 2 && scan.output.isEmpty && scan.complaint.contains("neither JPEG, PNG nor WebP"), "\(scan)")
    }
  }
}
