import SealedPayload
import SecretVault
import Sodium

/// A password entry as a text to be edited: a line for each of title, user, password and web address, an empty line, and
/// the notes. All of it stays in secret memory.
enum EntryText {
  /// Fields that have a line of their own, in order.
  static let lines: [EntryField] = [.title, .user, .password, .url]

  private static var names: String { lines.map { $0.rawValue + ":" }.joined(separator: " ") }

  /// Why a text is no entry. Says nothing of what stands in it.
  enum Fault: Error, Equatable {
    /// A line before the notes that begins with no known name and a colon; counted from 1.
    case line(Int)
    case repeated(EntryField)
    case noPassword
    case memory

    /// For the user.
    var reason: String {
      switch self {
      case .line(let number):
        "line \(number) begins with none of \(EntryText.names), and no empty line stands before it"
      case .repeated(let field): "there are two lines with '\(field.rawValue):'"
      case .noPassword: "the entry has no password any more"
      case .memory: SecretText.noMemory.reason
      }
    }
  }

  /// Lays out an entry. Refuses one with a field that doesn't fit into a line.
  static func text(_ header: borrowing PayloadHeader) throws -> SecretBytes {
    var text = try SecretText()
    for field in lines {
      try text.append(field.rawValue + ": ")
      if let value = header.field(field.rawValue) {
        guard isLine(value) else {
          throw VaultError(
            .refused, "the entry's \(field.rawValue) has characters that don't fit into a line to be edited",
            hint: "make a new entry: vault password")
        }
        try text.append(value)
      }
      try text.append("\n")
    }
    try text.append("\n")
    if let notes = header.field(EntryField.notes.rawValue) {
      try text.append(notes)
      try text.append("\n")
    }
    return try text.finish()
  }

  /// Takes an edited text apart.
  static func fields(_ text: RawSpan) throws(Fault) -> EntryFields {
    let layout = try text.withUnsafeBytes { (bytes) throws(Fault) in try Self.layout(of: bytes) }
    guard let password = layout.values[.password], !password.isEmpty else { throw .noPassword }
    do {
      var entry = EntryFields(password: try SecretBytes(copying: text.extracting(password)))
      entry.title = try copy(layout.values[.title], text)
      entry.user = try copy(layout.values[.user], text)
      entry.url = try copy(layout.values[.url], text)
      entry.notes = try copy(layout.notes, text)
      return entry
    } catch {
      throw .memory
    }
  }

  private static func copy(_ range: Range<Int>?, _ text: RawSpan) throws(SodiumError) -> SecretBytes? {
    guard let range, !range.isEmpty else { return nil }
    return try SecretBytes(copying: text.extracting(range))
  }

  private struct Layout {
    var values: [EntryField: Range<Int>] = [:]
    var notes: Range<Int>?
  }

  private static func layout(of bytes: UnsafeRawBufferPointer) throws(Fault) -> Layout {
    var layout = Layout()
    var start = 0
    var number = 1
    while start < bytes.count {
      let newline = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
      // Some editors end lines as Windows does.
      let end = newline > start && bytes[newline - 1] == UInt8(ascii: "\r") ? newline - 1 : newline
      guard end > start else {
        let first = min(newline + 1, bytes.count)
        var last = bytes.count
        if last > first, bytes[last - 1] == UInt8(ascii: "\n") { last -= 1 }
        layout.notes = first..<last
        return layout
      }
      let line = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
      guard let field = lines.first(where: { line.starts(with: ($0.rawValue + ":").utf8) }) else { throw .line(number) }
      guard layout.values[field] == nil else { throw .repeated(field) }
      var value = start + field.rawValue.utf8.count + 1
      if value < end, bytes[value] == UInt8(ascii: " ") { value += 1 }
      layout.values[field] = value..<end
      start = newline + 1
      number += 1
    }
    return layout
  }

  private static func isLine(_ value: RawSpan) -> Bool {
    value.withUnsafeBytes { bytes in bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
  }
}
