import CQRencode
import Glibc

/// A QR code (ISO/IEC 18004, model 2): a square of dark and light modules, without its quiet zone.
///
/// The content is public: it ends on screens and in pictures, and nothing here is wiped.
package struct QRSymbol: Sendable, Hashable {
  /// How much of a damaged symbol can be repaired.
  /// In the order of libqrencode's numbers.
  package enum Correction: UInt32, Sendable, Hashable, CaseIterable {
    /// About 7 percent of the codewords.
    case low
    /// About 15 percent.
    case medium
    /// About 25 percent.
    case quartile
    /// About 30 percent.
    case high
  }

  /// Most bytes that any symbol holds; longer content is refused before anything is allocated.
  /// (Digits alone could be 7089 in a mode that isn't used here.)
  package static let byteLimit = 4296

  /// Modules on each side: 21, 25, … 177.
  package let side: Int

  private let modules: [Bool]

  /// The smallest symbol for `text`. Text made only of the 45 characters `0-9 A-Z $%*+-./:` and space is packed at 5.5
  /// bits a character (alphanumeric mode): 279 characters fit 49 modules at low correction. Other text is written as
  /// its UTF-8 bytes, without a mark that says so.
  package init(text: String, correction: Correction = .low) throws(QRCodeError) {
    let bytes = Array(text.utf8.prefix(Self.byteLimit + 1))
    let mode = bytes.allSatisfy(Self.alphanumeric.contains) ? QR_MODE_AN : QR_MODE_8
    try self.init(bytes, mode, correction)
  }

  /// The smallest symbol for any bytes, in byte mode: at most 2953 of them at low correction.
  package init(bytes: [UInt8], correction: Correction = .low) throws(QRCodeError) {
    try self.init(bytes, QR_MODE_8, correction)
  }

  private init(_ bytes: [UInt8], _ mode: QRencodeMode, _ correction: Correction) throws(QRCodeError) {
    guard !bytes.isEmpty else { throw .empty }
    guard bytes.count <= Self.byteLimit, let size = Int32(exactly: bytes.count) else { throw .tooLong }
    guard let input = QRinput_new2(0, QRecLevel(correction.rawValue)) else { throw .encoder(errno: errno) }
    defer { QRinput_free(input) }
    guard QRinput_append(input, mode, size, bytes) == 0 else { throw .encoder(errno: errno) }
    guard let code = QRcode_encodeInput(input) else { throw errno == ERANGE ? .tooLong : .encoder(errno: errno) }
    defer { QRcode_free(code) }
    side = Int(code.pointee.width)
    // The lowest bit of each byte is the colour; the others say what the module is for.
    modules = UnsafeBufferPointer(start: code.pointee.data, count: side * side).map { $0 & 1 == 1 }
  }

  /// Whether the module in column `x` and row `y`, counted from the top left corner, is dark.
  /// Everything around the symbol is light.
  package subscript(x: Int, y: Int) -> Bool {
    guard x >= 0, x < side, y >= 0, y < side else { return false }
    return modules[y * side + x]
  }

  private static let alphanumeric = Set("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:".utf8)
}

package enum QRCodeError: Error, Sendable, Hashable {
  case empty
  /// The content is too long for the largest symbol (177 modules a side) at the correction level asked for.
  case tooLong
  /// libqrencode failed; the value is its `errno`, ENOMEM in practice.
  case encoder(errno: Int32)
  /// The scale or the quiet zone is outside of what a picture may have.
  case imageSize
}
