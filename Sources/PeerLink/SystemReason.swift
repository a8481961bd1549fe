import NIOCore
import NIOPosix
import PeerAuth

/// NIO's errors and addresses in plain words.
enum SystemReason {
  static func text(_ error: any Error) -> String {
    switch error {
    case let error as IOError: return systemWords(error.errnoCode)
    case let error as NIOConnectionError:
      if let first = error.connectionErrors.first { return text(first.error) }
      return "the name \(error.host) has no address"
    case ChannelError.connectTimeout: return "no answer"
    case is SocketAddressError, is SocketAddressError.UnknownHost: return "no such address"
    default: return "\(error)"
    }
  }

  static func unreachable(_ error: any Error) -> TransportError {
    if case ChannelError.connectTimeout = error { return .timedOut }
    if let error = error as? NIOConnectionError, !error.connectionErrors.isEmpty,
      error.connectionErrors.allSatisfy({ if case ChannelError.connectTimeout = $0.error { true } else { false } })
    {
      return .timedOut
    }
    return .unreachable(text(error))
  }

  /// The number form of a socket address; ::ffff:192.0.2.7, as a socket for both families has it, is 192.0.2.7.
  static func address(_ address: SocketAddress) -> PeerAddress? {
    guard let host = address.ipAddress, let port = address.port else { return nil }
    let number = host.hasPrefix("::ffff:") && host.contains(".") ? host.dropFirst(7) : host.prefix { $0 != "%" }
    return try? PeerAddress(host: String(number), port: port, allowsAnyPort: true)
  }
}
