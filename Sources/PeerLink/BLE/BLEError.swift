import Glibc
package import PeerAuth

package enum BLEError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kernel has no Bluetooth, or this process may not see it.
  case notSupported
  case noAdapter
  /// The setting that names the adapters makes no sense; its text.
  case badChoice(String)
  /// The adapters are switched off; their names.
  case off([String])
  case noLE([String])
  /// bluetoothd doesn't run, and the kernel's own interface needs a right that this process doesn't have.
  case notPermitted
  case busy
  case gone
  case serviceGone
  case failed(String)

  package static let outOfResources = failed("this program has too many open files or threads")

  package var description: String {
    switch self {
    case .notSupported: "this system has no Bluetooth"
    case .noAdapter: "there is no Bluetooth adapter"
    case .badChoice(let text): "the setting ble-adapter names no Bluetooth adapter: '\(text)'"
    case .off(let names): "the Bluetooth adapter is off" + Self.list(names)
    case .noLE(let names): "the Bluetooth adapter can't do LE" + Self.list(names)
    case .notPermitted: "bluetoothd does not run, and using the adapter without it needs CAP_NET_ADMIN"
    case .busy: "another program uses the Bluetooth adapter"
    case .gone: "the Bluetooth adapter has gone"
    case .serviceGone: "bluetoothd has ended or does not answer"
    case .failed(let reason): reason
    }
  }

  package var hint: String? {
    switch self {
    case .notSupported, .noLE, .gone, .failed: nil
    case .noAdapter: "plug one in, or see the setting ble-adapter"
    case .badChoice: "use all that there are: vault settings set ble-adapter all"
    case .off: "switch it on: bluetoothctl power on"
    case .notPermitted: "start bluetoothd: systemctl start bluetooth"
    case .busy: "try again in a moment"
    case .serviceGone: "see: systemctl status bluetooth"
    }
  }

  private static func list(_ names: [String]) -> String {
    names.isEmpty ? "" : " (\(names.joined(separator: ", ")))"
  }

  package var unreachable: TransportError { .unreachable(description) }
}

enum BLEReason {
  /// Errors that mean that the connection is no more, whoever ended it.
  static let ends: Set<Int32> = [
    ECONNRESET, ECONNABORTED, ENOTCONN, EPIPE, EHOSTUNREACH, EHOSTDOWN, ETIMEDOUT, ESHUTDOWN,
  ]
  /// Errors of a moment, after which the same may work.
  static let passing: Set<Int32> = [EBUSY, EALREADY, ECONNABORTED, ECONNRESET, EAGAIN]

  static func text(_ error: Int32) -> String {
    switch error {
    case EHOSTUNREACH, EHOSTDOWN: "it is not near, or the Bluetooth adapter is gone"
    case ECONNRESET, ECONNABORTED, ENOTCONN, EPIPE, ESHUTDOWN: "the peer is gone"
    case ETIMEDOUT: "no answer"
    case ECONNREFUSED: "it does not take connections over Bluetooth"
    case ENETDOWN, ENETUNREACH, EADDRNOTAVAIL: "the Bluetooth adapter is off"
    case ENODEV, ENXIO: "there is no Bluetooth adapter"
    case EBUSY, EALREADY: "another program uses the Bluetooth adapter"
    case EADDRINUSE: "another program, or another vault, listens on this Bluetooth adapter already"
    case EACCES, EPERM: "using Bluetooth is not permitted"
    case EAFNOSUPPORT, EPROTONOSUPPORT, ESOCKTNOSUPPORT: "this system has no Bluetooth"
    default: systemWords(error)
    }
  }

}

/// The system's own words, such as `connection refused`.
func systemWords(_ error: Int32) -> String {
  var buffer = [CChar](repeating: 0, count: 256)
  guard strerror_r(error, &buffer, buffer.count) == 0 else { return "error \(error)" }
  let text = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  return text.prefix(1).lowercased() + text.dropFirst()
}
