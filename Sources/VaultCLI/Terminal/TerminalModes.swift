import Glibc
import Synchronization

/// Remembers how terminals were before echo was turned off, so that a signal can put them back.
enum TerminalModes {
  private static let saved = Mutex<[Int32: termios]>([:])

  /// Turns echo off, and Ctrl-Z too: after a stop, the shell would bring the echo back in the middle of a passphrase.
  /// False if the descriptor is no terminal.
  ///
  /// With `discardsWaiting`, what was typed before the question is thrown away.
  static func hideInput(of descriptor: Int32, discardsWaiting: Bool = true) -> Bool {
    var modes = termios()
    guard tcgetattr(descriptor, &modes) == 0 else { return false }
    let before = modes
    saved.withLock { $0[descriptor] = before }
    modes.c_lflag &= ~tcflag_t(ECHO | ECHOE | ECHOK | ECHONL)
    modes.c_lflag |= tcflag_t(ICANON | ISIG)
    withUnsafeMutableBytes(of: &modes.c_cc) { $0[Int(VSUSP)] = 0 }
    guard tcsetattr(descriptor, discardsWaiting ? TCSAFLUSH : TCSADRAIN, &modes) == 0 else {
      saved.withLock { $0[descriptor] = nil }
      return false
    }
    return true
  }

  /// Puts one terminal back, and throws away what was typed but not read.
  static func restore(_ descriptor: Int32) {
    guard var modes = saved.withLock({ $0.removeValue(forKey: descriptor) }) else { return }
    tcsetattr(descriptor, TCSAFLUSH, &modes)
  }

  /// Puts all back: called when a signal ends the program. Says whether a question was open. Unlike ``restore(_:)``, it
  /// does not wait until the terminal has shown everything: a stopped one never does.
  @discardableResult
  static func restoreAll() -> Bool {
    let all = saved.withLock { saved in
      defer { saved = [:] }
      return saved
    }
    for (descriptor, before) in all {
      var modes = before
      tcsetattr(descriptor, TCSANOW, &modes)
      tcflush(descriptor, TCIFLUSH)
    }
    return !all.isEmpty
  }
}
