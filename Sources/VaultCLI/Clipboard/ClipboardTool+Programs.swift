import SecretVault
import Sodium

extension ClipboardTool {
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

  func clear() throws {
    let nothing = try SecretText.memory(0)
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
    return try child(arguments).output(limit: limit)
  }

  private func run(_ arguments: [String], input: borrowing SecretBytes) throws {
    let status = try child(arguments).take(input)
    guard status == 0 else {
      throw VaultError(
        .other, "\(name) ended with code \(status)", hint: "does it work by itself, in this very session?")
    }
  }

  private func child(_ arguments: [String]) throws -> SecretChild {
    guard let path = ExecutableSearch.path(of: arguments[0]) else {
      throw VaultError(.notFound, "\(arguments[0]) is not installed")
    }
    return SecretChild(path: path, arguments: arguments)
  }
}
