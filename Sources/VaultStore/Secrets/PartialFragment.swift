import Glibc
package import ShamirKit
import Synchronization

/// A fragment that arrives piece by piece, and may be taken up again after a cut or a crash.
///
/// The holder of this value is the only one who writes the file: it carries a lock until it ends. Keep it until the
/// database says that the fragment is complete.
package final class PartialFragment: Sendable {
  package let secretID: SecretID
  /// The fragment's number, from 1.
  package let index: Int
  package let byteCount: Int64
  /// Bytes of every piece but the last.
  package let pieceByteCount: Int
  package let found: FileMark

  private let store: FragmentStore
  private let file: OpenFile
  private let present: Mutex<Int>

  /// Opens or starts the file and cuts it back to whole pieces. `confirm` runs under the lock, before anything is
  /// changed, and decides whether the file may be touched at all. `besideFinal` leaves a file under the final name alone
  /// until ``finish()`` takes its place.
  init(
    _ store: FragmentStore, secretID: SecretID, index: Int, byteCount: Int64, pieceByteCount: Int,
    besideFinal: Bool = false, confirm: () throws(StoreError) -> Void
  ) throws(StoreError) {
    guard byteCount > 0, pieceByteCount > 0 else { throw .invalid("an empty fragment") }
    let file = try Self.open(
      final: besideFinal ? nil : store.path(secretID, index), partial: store.partialPath(secretID, index),
      confirm: confirm)
    let status = try file.status()
    let size = min(Int64(status.st_size), byteCount)
    let pieces = size == byteCount ? Self.pieceCount(byteCount, pieceByteCount) : Int(size / Int64(pieceByteCount))
    try file.truncate(to: min(byteCount, Int64(pieces) * Int64(pieceByteCount)))
    found = FileMark(status)
    self.store = store
    self.secretID = secretID
    self.index = index
    self.byteCount = byteCount
    self.pieceByteCount = pieceByteCount
    self.file = file
    present = Mutex(pieces)
  }

  private static func open(
    final: String?, partial: String, confirm: () throws(StoreError) -> Void
  ) throws(StoreError) -> OpenFile {
    // A crash between rename and commit leaves the whole file under its final name without a row that counts it.
    if let final, access(final, F_OK) == 0 {
      let file = try OpenFile.lockedFile(final, O_RDWR)
      try confirm()
      try FileNames.rename(final, to: partial, replacing: true)
      return file
    }
    let file = try OpenFile.lockedFile(partial, O_RDWR | O_CREAT)
    do throws(StoreError) { try confirm() } catch {
      if try file.byteCount() == 0 { unlink(partial) }
      throw error
    }
    return file
  }

  package var pieceCount: Int { Self.pieceCount(byteCount, pieceByteCount) }

  /// Pieces that are in the file. Those written after the last ``synchronize()`` before a power cut may hold rubbish:
  /// their hashes must be checked again when the work is taken up.
  package var piecesPresent: Int { present.withLock { $0 } }

  /// Adds the next piece, which must have its proper length.
  package func append(_ piece: RawSpan) throws(StoreError) {
    try present.withLock { (pieces) throws(StoreError) in
      let range = range(ofPiece: pieces)
      guard pieces < pieceCount, piece.byteCount == range.count else { throw .invalid("a piece of wrong length") }
      try file.write(piece, at: range.lowerBound)
      pieces += 1
    }
  }

  package func read(piece number: Int) throws(StoreError) -> [UInt8] {
    guard number >= 0, number < piecesPresent else { throw .invalid("a piece that is not there") }
    let range = range(ofPiece: number)
    return try file.read(count: range.count, at: range.lowerBound)
  }

  /// Forgets pieces from the end, for example those that turned out to be wrong.
  package func truncate(toPieces count: Int) throws(StoreError) {
    try present.withLock { (pieces) throws(StoreError) in
      guard count >= 0, count <= pieces else { throw .invalid("a number of pieces") }
      try file.truncate(to: min(byteCount, Int64(count) * Int64(pieceByteCount)))
      pieces = count
    }
  }

  package func mark() throws(StoreError) -> FileMark { FileMark(try file.status()) }

  package func synchronize() throws(StoreError) { try file.synchronize() }

  /// ``writeTrailer(_:at:)`` for a trailer that is at hand as a whole, then ``finish()``.
  package func finish(trailer: RawSpan) throws(StoreError) {
    try writeTrailer(trailer, at: 0)
    try file.truncate(to: byteCount + Int64(trailer.byteCount))
    try finish()
  }

  /// Writes a part of the trailer, in any order. All pieces must be there. What is written counts only after ``finish()``.
  package func writeTrailer(_ bytes: RawSpan, at offset: Int64) throws(StoreError) {
    try file.write(bytes, at: placeInFile(ofTrailer: offset, count: bytes.byteCount))
  }

  package func readTrailer(at offset: Int64, count: Int) throws(StoreError) -> [UInt8] {
    try file.read(count: count, at: placeInFile(ofTrailer: offset, count: count))
  }

  /// Makes pieces and trailer durable and gives the file its final name. All pieces must be there. The fragment counts
  /// once the database says so.
  package func finish() throws(StoreError) {
    guard piecesPresent == pieceCount else { throw .invalid("an incomplete fragment") }
    try file.synchronize()
    try FileNames.rename(store.partialPath(secretID, index), to: store.path(secretID, index), replacing: true)
    try FileNames.synchronizeFolder(store.folders.fragmentsPath)
  }

  private func placeInFile(ofTrailer offset: Int64, count: Int) throws(StoreError) -> Int64 {
    guard piecesPresent == pieceCount else { throw .invalid("an incomplete fragment") }
    guard offset >= 0, count >= 0, offset <= Int64.max - byteCount - Int64(count) else {
      throw .invalid("a place outside the trailer")
    }
    return byteCount + offset
  }

  static func pieceCount(_ byteCount: Int64, _ pieceByteCount: Int) -> Int {
    Int((byteCount - 1) / Int64(pieceByteCount)) + 1
  }

  private func range(ofPiece number: Int) -> Range<Int64> {
    let start = min(byteCount, Int64(number) * Int64(pieceByteCount))
    return start..<min(byteCount, start + Int64(pieceByteCount))
  }
}
