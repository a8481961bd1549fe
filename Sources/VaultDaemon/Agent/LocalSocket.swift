import CShims
import Glibc
import Sodium

/// A local socket that keeps the bounds of messages (`SOCK_SEQPACKET`), and never waits by itself.
final class LocalSocket: Sendable {
  let descriptor: Int32

  init(owning descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  private static func make() -> LocalSocket? {
    let kind = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let descriptor = socket(AF_UNIX, kind, 0)
    return descriptor < 0 ? nil : LocalSocket(owning: descriptor)
  }

  /// Connects to the socket `name` in `folder`. Nil, with `errno`, if nobody listens there or too many wait.
  static func connect(to name: String, in folder: String) -> LocalSocket? {
    guard let made = make() else { return nil }
    let outcome = withAddress(of: name, in: folder) { Glibc.connect(made.descriptor, $0, $1) }
    return outcome == 0 ? made : nil
  }

  /// Listens at the new socket `name` in `folder`, of mode 0600. Nil, with `errno`, if that can't be done.
  static func listen(at name: String, in folder: String, waiting: Int32) -> LocalSocket? {
    guard let made = make() else { return nil }
    // Before it has a name: nobody else ever finds it open.
    guard fchmod(made.descriptor, 0o600) == 0,
      withAddress(of: name, in: folder, { bind(made.descriptor, $0, $1) }) == 0,
      Glibc.listen(made.descriptor, waiting) == 0
    else { return nil }
    return made
  }

  /// Lends the address of a socket. A name too long for an address is reached through its open folder.
  private static func withAddress(
    of name: String, in folder: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let room = MemoryLayout.size(ofValue: address.sun_path)
    var opened: Int32 = -1
    defer { if opened >= 0 { close(opened) } }
    var path = "\(folder)/\(name)"
    if path.utf8.count >= room {
      opened = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      guard opened >= 0 else { return -1 }
      path = "/proc/self/fd/\(opened)/\(name)"
    }
    guard path.utf8.count < room else {
      errno = ENAMETOOLONG
      return -1
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  /// The next connection that waits; nil, with `errno`, if there is none.
  func accept() -> LocalSocket? {
    let accepted = vault_accept(descriptor)
    return accepted < 0 ? nil : LocalSocket(owning: accepted)
  }

  /// Whether the process at the other end belongs to this very user.
  var isOwnUser: Bool {
    var user: UInt32 = 0
    return vault_peer_user(descriptor, &user) == 0 && user == geteuid()
  }

  /// Waits until something can be received, or the other end has gone.
  func waitForMessage(milliseconds: Int32) -> Bool {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    let end = Clocks.milliseconds() + Int64(milliseconds)
    while true {
      let left = Int32(clamping: end - Clocks.milliseconds())
      let count = poll(&waiting, 1, max(0, left))
      if count > 0 { return true }
      guard count < 0, errno == EINTR, left > 0 else { return false }
    }
  }

  /// Sends a message, and a descriptor with it unless it is negative. False if the other end doesn't take it at once.
  func send(_ message: borrowing SecretBytes, descriptor: Int32 = -1) -> Bool {
    let socket = self.descriptor
    return message.withUnsafeBytes { vault_send_message(socket, $0.baseAddress, $0.count, descriptor) == 0 }
  }

  /// What came of looking for a message.
  enum Received: Equatable {
    /// So many bytes of the memory hold one; the descriptor that came with it is the caller's, -1 for none.
    case message(count: Int, descriptor: Int32)
    /// The other end has gone.
    case end
    /// There is none yet.
    case nothing
    /// It was longer than the memory, or brought too much.
    case unfit
  }

  /// Receives a message into `memory`.
  func receive(into memory: inout SecretBytes) -> Received {
    let socket = self.descriptor
    var descriptor: Int32 = -1
    let count = memory.withUnsafeMutableBytes {
      vault_receive_message(socket, $0.baseAddress, $0.count, &descriptor)
    }
    if count > 0 { return .message(count: count, descriptor: descriptor) }
    if count < 0 { return errno == EAGAIN ? .nothing : errno == EMSGSIZE ? .unfit : .end }
    if descriptor >= 0 { close(descriptor) }
    return .end
  }
}
