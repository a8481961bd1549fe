import Glibc

/// Functions of the GNU C library that Swift's `Glibc` module leaves out, because it is made without `_GNU_SOURCE`.
enum GNU {
  typealias Actions = UnsafeMutablePointer<posix_spawn_file_actions_t>

  /// Closes all descriptors from this one on in the child.
  static func closeFrom(_ actions: Actions, _ first: Int32) -> Bool {
    typealias Function = @convention(c) (Actions, Int32) -> Int32
    return call("posix_spawn_file_actions_addclosefrom_np", as: Function.self) { $0(actions, first) } == 0
  }

  /// Starts the child in this folder.
  static func changeFolder(_ actions: Actions, _ path: String) -> Bool {
    typealias Function = @convention(c) (Actions, UnsafePointer<CChar>) -> Int32
    return call("posix_spawn_file_actions_addchdir_np", as: Function.self) { $0(actions, path) } == 0
  }

  /// Makes the child the leader of a new session, without a terminal.
  static let spawnInNewSession: Int16 = 0x80

  /// Reading and writing end of a pipe that no child inherits.
  static func pipe() -> [Int32]? {
    typealias Function = @convention(c) (UnsafeMutablePointer<Int32>, Int32) -> Int32
    var ends: [Int32] = [-1, -1]
    return call("pipe2", as: Function.self) { $0(&ends, O_CLOEXEC) } == 0 ? ends : nil
  }

  /// A new pseudo-terminal: the keyboard's end, and the name of the other one.
  static func openTerminal() -> (keyboard: Int32, name: [CChar])? {
    typealias Simple = @convention(c) (Int32) -> Int32
    typealias Naming = @convention(c) (Int32, UnsafeMutablePointer<CChar>, Int) -> Int32
    let keyboard = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    var name = [CChar](repeating: 0, count: 256)
    guard keyboard >= 0, call("grantpt", as: Simple.self, { $0(keyboard) }) == 0,
      call("unlockpt", as: Simple.self, { $0(keyboard) }) == 0,
      call("ptsname_r", as: Naming.self, { $0(keyboard, &name, name.count) }) == 0
    else { return nil }
    return (keyboard, name)
  }

  private static func call<Function>(_ name: String, as type: Function.Type, _ body: (Function) -> Int32) -> Int32 {
    guard let address = dlsym(nil, name) else { return -1 }
    return body(unsafeBitCast(address, to: type))
  }
}
