import Glibc

/// Tells systemd, or whatever set `NOTIFY_SOCKET`, how the daemon is doing (the protocol of sd_notify(3)).
package enum ServiceManager {
  /// Sends one state such as `READY=1`; does nothing without a manager. Says whether it was sent.
  @discardableResult
  package static func notify(_ state: String, socketPath: String? = getenv("NOTIFY_SOCKET").map { String(cString: $0) })
    -> Bool
  {
    guard let socketPath else { return false }
    var name = Array(socketPath.utf8)
    guard let first = name.first, first == UInt8(ascii: "/") || first == UInt8(ascii: "@") else { return false }
    // A leading @ stands for the zero byte of Linux's abstract names.
    if first == UInt8(ascii: "@") { name[0] = 0 }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    guard name.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    // An abstract name ends with its length; a path ends with a zero byte.
    let header = MemoryLayout<sockaddr_un>.size - MemoryLayout.size(ofValue: address.sun_path)
    let length = socklen_t(header + name.count + (first == UInt8(ascii: "/") ? 1 : 0))
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    let bytes = Array(state.utf8)
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), generic, length) == bytes.count
      }
    }
  }
}
