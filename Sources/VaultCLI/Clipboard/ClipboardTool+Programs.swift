import Glibc
import SecretVault
import Sodium

extension ClipboardTool {
  /// Milliseconds that one call may take.
  private static let timeLimit: Int64 = 5000

  /// The first that is installed, has a display to work with, and keeps what it is given in memory.
  static func available(_ console: Console) throws -> ClipboardTool? {
    for tool in allCases where try tool.isUsable {
      if tool == .wayland, try WaylandCopy.arguments() == nil {
        console.note(WaylandCopy.onDisk)
        continue
      }
      return tool
    }
    return nil
  }

  /// Whether there is a display of its kind, and the programs are installed.
  var isUsable: Bool {
    get throws {
      let display = self == .wayland ? "WAYLAND_DISPLAY" : "DISPLAY"
      guard try Composition.variable(display) != nil else { return false }
      return programs.allSatisfy { ExecutableSearch.path(of: $0) != nil }
    }
  }

  /// Puts something on the clipboard.
  func copy(_ content: borrowing SecretBytes) throws {
    let arguments: [String]
    switch self {
    case .wayland:
      guard let start = try WaylandCopy.arguments() else { throw VaultError(.other, WaylandCopy.onDisk) }
      arguments = start + ["--type", "text/plain"]
    case .xclip: arguments = ["xclip", "-selection", "clipboard", "-in"]
    case .xsel: arguments = ["xsel", "--clipboard", "--input"]
    }
    try run(arguments, input: content)
  }

  /// Empties the clipboard.
  func clear() throws {
    let nothing: SecretBytes
    do { nothing = try SecretBytes(zeros: 0) } catch { throw SecretText.noMemory }
    let arguments: [String] =
      switch self {
      case .wayland: ["wl-copy", "--clear"]
      case .xclip: ["xclip", "-selection", "clipboard", "-in"]
      case .xsel: ["xsel", "--clipboard", "--clear"]
      }
    try run(arguments, input: nothing)
  }

  /// What is on the clipboard as text; nil if that can't be said, because it is none, or longer than `limit`.
  func paste(limit: Int) throws -> SecretBytes? {
    let arguments: [String] =
      switch self {
      case .wayland: ["wl-paste", "--no-newline", "--type", "text"]
      case .xclip: ["xclip", "-selection", "clipboard", "-out"]
      case .xsel: ["xsel", "--clipboard", "--output"]
      }
    let child = SecretChild(path: try path(arguments), arguments: arguments, timeLimit: Self.timeLimit)
    return try child.output(limit: limit)
  }

  private func run(_ arguments: [String], input: borrowing SecretBytes) throws {
    let child = SecretChild(path: try path(arguments), arguments: arguments, timeLimit: Self.timeLimit)
    let status = try child.take(input)
    guard status == 0 else {
      throw VaultError(
        .other, "\(name) ended with code \(status)", hint: "does it work by itself, in this very session?")
    }
  }

  private func path(_ arguments: [String]) throws -> String {
    guard let path = ExecutableSearch.path(of: arguments[0]) else {
      throw VaultError(.notFound, "\(arguments[0]) is not installed")
    }
    return path
  }
}
