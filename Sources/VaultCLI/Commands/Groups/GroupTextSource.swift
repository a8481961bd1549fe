import Glibc
import QRCode
import SecretVault
import VaultGroups

/// Requests to join and answers to them: from files, pictures and cameras, and to files and QR codes.
enum GroupTextSource {
  /// The text in a file or a picture, or in what a camera sees.
  static func text(_ source: String?, _ look: CameraOptions, _ console: Console) throws -> [UInt8] {
    guard let source else {
      return try only(look.texts(device: nil, console).map { Array($0.utf8) }, "what the camera sees")
    }
    let (bytes, name) = try CardSource.read(source)
    if CardSource.isPicture(bytes) { return try only(ScanHelper.contents(of: bytes, named: name), name) }
    guard bytes.count <= VaultGroups.textLimit else {
      throw VaultError(.usage, "\(name) is neither a request or an answer, nor a picture of one")
    }
    let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
    // A mail program may have broken the line.
    return bytes.filter { !blanks.contains($0) }
  }

  private static func only(_ texts: [[UInt8]], _ place: String) throws -> [UInt8] {
    let found = texts.filter { VaultGroups.isGroupText($0) }
    guard let first = found.first else {
      throw VaultError(.notFound, "there is no request or answer in \(place)", hint: "show the whole code, and only it")
    }
    guard found.count == 1 else { throw VaultError(.ambiguous, "there are several codes in \(place)") }
    return first
  }

  /// Shows a text: in a file, on standard output, or on the terminal as a QR code.
  static func show(_ text: String, to path: String?, what: String, option: String, _ console: Console) throws {
    if let path, path != "-" {
      try PublicFile.write(Array((text + "\n").utf8), to: path)
      console.note("wrote \(what) to \(path)")
      if console.json { try console.result(["text": .string(text), "file": .string(path)]) }
      return
    }
    if console.json { return try console.result(["text": .string(text), "file": .null]) }
    guard path == nil, Console.outputIsTerminal else { return try console.result(text) }
    let symbol: QRSymbol
    do { symbol = try QRSymbol(text: text) } catch {
      throw VaultError(.other, "\(what) does not fit into a QR code", hint: "write it to a file, with \(option) FILE")
    }
    try Console.write(
      symbol.drawing(hint: "make it larger, or write it to a file with \(option) FILE"), to: STDOUT_FILENO)
  }
}
