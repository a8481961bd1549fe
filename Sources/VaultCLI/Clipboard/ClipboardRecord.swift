import Sodium

/// A note on the disk that something secret is on the clipboard, and by what it is known again: a salted hash under the
/// vault's keys, which says nothing to anybody else. Its lock is held by whoever is going to wipe the clipboard.
struct ClipboardRecord: Equatable {
  /// Most bytes of a note.
  static let byteLimit = 512
  static let saltByteCount = 32
  private static let title = "vault clipboard 1"
  /// What stands for a terminal's clipboard, which can't be looked at.
  private static let terminalName = "terminal"

  /// The program that reaches the clipboard; nil for a terminal's.
  let tool: ClipboardTool?
  let salt: [UInt8]
  let tag: [UInt8]

  var bytes: [UInt8] {
    Array("\(Self.title)\n\(tool?.name ?? Self.terminalName)\n\(hexadecimal(salt))\n\(hexadecimal(tag))\n".utf8)
  }
}

extension ClipboardRecord {
  /// Nil if it is no note.
  init?(_ bytes: [UInt8]) {
    guard bytes.count <= Self.byteLimit, let text = String(validating: bytes, as: UTF8.self) else { return nil }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    guard lines.count == 5, lines[4].isEmpty, lines[0] == Self.title else { return nil }
    let tool = ClipboardTool.allCases.first { $0.name == lines[1] }
    guard tool != nil || lines[1] == Self.terminalName, let salt = Sodium.bytes(hexadecimal: lines[2]),
      let tag = Sodium.bytes(hexadecimal: lines[3]), salt.count == Self.saltByteCount, tag.count == Digest.byteCount
    else { return nil }
    self.init(tool: tool, salt: salt, tag: tag)
    guard self.bytes == bytes else { return nil }
  }
}
