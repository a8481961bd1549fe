/// A program that reaches the desktop's clipboard. Secrets go to it, and come from it, through pipes only.
enum ClipboardTool: UInt8, CaseIterable, Sendable {
  /// Wayland, by `wl-copy` and `wl-paste`.
  case wayland = 1
  /// X11, by `xclip`.
  case xclip = 2
  /// X11, by `xsel`.
  case xsel = 3

  /// What the user knows it as.
  var name: String { programs[0] }

  var programs: [String] {
    switch self {
    case .wayland: ["wl-copy", "wl-paste"]
    case .xclip: ["xclip"]
    case .xsel: ["xsel"]
    }
  }
}
