import CShims
import Glibc
import HTTPLink
import NetLink
import XMPPLink
import XMPPRequests

/// The program `vault-net`: speaks to servers for `vault`, over the socket that is its standard input.
///
/// It is a process of its own so that servers, and the libraries that talk to them, stay away from open keys.
@main
struct VaultNet {
  static func main() {
    switch Array(CommandLine.arguments.dropFirst()) {
    case []: serve()
    case ["--confinement"]:
      prepare()
      if let strength = Confinement.enter() { print(strength, terminator: "") } else { exit(1) }
    case ["--version"]: print("vault-net \(NetVersion.text)")
    default:
      print(
        "This is a helper of vault, which starts it when a server is needed. There is nothing to do with it by hand.")
    }
  }

  private static func serve() -> Never {
    guard isSocket(STDIN_FILENO) else {
      print("This is a helper of vault, which starts it when a server is needed.")
      exit(2)
    }
    // Nothing that a server makes of this process can take it back: the filter doesn't let it.
    guard vault_end_with_parent() == 0, !hasHungUp(STDIN_FILENO) else { _exit(1) }
    // Another number than 0, which libraries may take for something else.
    let descriptor = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
    close(STDIN_FILENO)
    guard descriptor >= 0, open("/dev/null", O_RDONLY | O_CLOEXEC) == STDIN_FILENO else { _exit(1) }
    prepare()
    guard Confinement.enter() != nil, let service = Service(FrameSocket(descriptor, isOfVault: false)) else {
      _exit(1)
    }
    service.run()
    // Nothing is kept, and there is nobody to wait for.
    _exit(0)
  }

  /// What libraries read once, before nothing can be read any more.
  private static func prepare() {
    _ = HTTPConnections.isReady
    XMPPConnection.prepare()
  }

  /// Whether the other end is closed, whatever is still to be read.
  private static func hasHungUp(_ descriptor: Int32) -> Bool {
    var state = pollfd(fd: descriptor, events: 0, revents: 0)
    return poll(&state, 1, 0) != 0
  }

  private static func isSocket(_ descriptor: Int32) -> Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
  }
}
