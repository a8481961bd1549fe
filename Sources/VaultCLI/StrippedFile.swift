import SecretVault
import Sodium

/// What `vault-scan --strip` has found to be kept of a picture's file. `docs/formats/qr.md` has its lines.
struct StrippedFile: Equatable {
  /// As it says what it can't strip.
  static let unknownKind = "neither JPEG, PNG nor WebP"
  /// Most pieces, and most bytes that may be put between them.
  private static let limit = (pieces: 4096, put: 256)

  /// What is left, in order.
  let pieces: [FilePiece]
  /// How many bytes were left out.
  let removed: UInt64

  /// Reads the helper's answer, which isn't trusted: whatever it says, nothing comes of it but bytes of the file, in their
  /// order, and a few others.
  init(lines output: [UInt8], byteCount: UInt64) throws {
    var lines = String(decoding: output, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)[...]
    guard output.count <= 1 << 20, lines.popLast() == "", lines.popFirst() == "size \(byteCount)",
      let last = lines.popLast()?.split(separator: " ", omittingEmptySubsequences: false), last.count == 2,
      last[0] == "removed", let removed = UInt64(last[1]), lines.count <= Self.limit.pieces
    else { throw ScanHelper.unexpected }
    var pieces: [FilePiece] = []
    var (place, put) = (0 as UInt64, 0)
    for line in lines {
      let words = line.split(separator: " ", omittingEmptySubsequences: false)
      guard words.count == 3 else { throw ScanHelper.unexpected }
      if words[0] == "keep", let offset = UInt64(words[1]), let count = UInt64(words[2]), offset >= place, count > 0,
        offset <= byteCount, count <= byteCount - offset
      {
        pieces.append(.range(offset: offset, count: count))
        place = offset + count
      } else if words[0] == "put", let count = Int(words[1]),
        let bytes = Base64Text.decodePublic(String(words[2]), limit: Self.limit.put),
        bytes.count == count, count > 0, count <= Self.limit.put - put
      {
        pieces.append(.bytes(bytes))
        put += count
      } else {
        throw ScanHelper.unexpected
      }
    }
    guard place > 0 else { throw ScanHelper.unexpected }
    (self.pieces, self.removed) = (pieces, removed)
  }
}
