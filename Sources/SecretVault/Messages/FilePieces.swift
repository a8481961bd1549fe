import Sodium
package import VaultProtocol

/// A part of what is sent of a file.
package enum FilePiece: Hashable, Sendable {
  /// Bytes of the file itself.
  case range(offset: UInt64, count: UInt64)
  /// Other bytes in its place.
  case bytes([UInt8])

  var byteCount: UInt64 {
    switch self {
    case .range(_, let count): count
    case .bytes(let bytes): UInt64(bytes.count)
    }
  }
}

/// Pieces of a file, read as one.
struct PiecedFile: Sendable {
  private let file: LocatedFile
  private let pieces: [(start: UInt64, piece: FilePiece)]
  let byteCount: UInt64

  /// Throws if the pieces aren't of this file.
  init(_ file: LocatedFile, _ pieces: [FilePiece]) throws {
    var placed: [(start: UInt64, piece: FilePiece)] = []
    var end: UInt64 = 0
    for piece in pieces {
      if case .range(let offset, let count) = piece {
        guard offset <= file.byteCount, count <= file.byteCount - offset else { throw Self.outside }
      }
      placed.append((end, piece))
      let (sum, overflow) = end.addingReportingOverflow(piece.byteCount)
      guard !overflow else { throw Self.outside }
      end = sum
    }
    (self.file, self.pieces, byteCount) = (file, placed, end)
  }

  private static var outside: VaultError { VaultError(.other, "a piece isn't within its file") }

  /// Exactly so many bytes. Throws if the file has changed since it was opened.
  func read(at offset: UInt64, count: Int) throws -> HeldSecret {
    try file.checkUnchanged()
    var bytes: SecretBytes
    do { bytes = try SecretBytes(zeros: count) } catch {
      throw VaultError(.other, "a file can't be read: \(error)")
    }
    var done = 0
    for (start, piece) in pieces where done < count && offset + UInt64(done) < start + piece.byteCount {
      // Pieces are in order, so this one has the next byte.
      let inside = offset + UInt64(done) - start
      let length = Int(min(piece.byteCount - inside, UInt64(count - done)))
      switch piece {
      case .range(let from, _):
        copy(try file.read(at: from + inside, count: length), into: &bytes, at: done)
      case .bytes(let others):
        bytes.withUnsafeMutableBytes { buffer in
          for place in 0..<length { buffer[done + place] = others[Int(inside) + place] }
        }
      }
      done += length
    }
    guard done == count else { throw VaultError(.inputOutput, "a file became shorter while it was read") }
    return HeldSecret(bytes)
  }

  private func copy(_ part: HeldSecret, into bytes: inout SecretBytes, at place: Int) {
    part.bytes.withUnsafeBytes { source in
      bytes.withUnsafeMutableBytes { buffer in
        UnsafeMutableRawBufferPointer(rebasing: buffer[place..<(place + source.count)]).copyMemory(from: source)
      }
    }
  }
}

extension MessageFile {
  /// A photo on this device, without its metadata: `strip` says which pieces are sent, or nil for all of it, and leaves the descriptor's offset.
  package init(
    photo path: String, mediaType: String, caption: HeldSecret?,
    strip: (_ descriptor: Int32, _ byteCount: UInt64) throws -> [FilePiece]?
  ) throws {
    let source = try LocatedFile(path: path)
    guard let pieces = try strip(source.descriptor, source.byteCount) else {
      self.init(source, path: path, isPhoto: true, mediaType: mediaType, caption: caption)
      return
    }
    let pieced = try PiecedFile(source, pieces)
    self.init(
      name: VaultCore.fileName(of: path), mediaType: mediaType, byteCount: pieced.byteCount, isPhoto: true,
      caption: caption
    ) { (offset, count) throws in try pieced.read(at: offset, count: count) }
  }
}
