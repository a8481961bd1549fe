package import WireCodec

/// A message of fixed type. Public ones only: the release, which carries a share, is written by hand.
package protocol PeerMessage: WireValue, Hashable, Sendable {
  /// Its number.
  static var type: MessageType { get }
}

/// First message in each direction: protocol version and what can be asked for.
package struct Hello: PeerMessage {
  /// Its number.
  package static let type = MessageType.hello
  /// The protocol version of this program.
  package static let currentVersion: UInt16 = 1
  /// The sender's protocol version.
  package let version: UInt16
  /// Numbers of the services it offers; unknown ones are allowed.
  package let services: [UInt16]
  /// Room for later versions.
  package let extensions: Extensions

  /// A greeting.
  package init(services: [PeerServiceKind]) {
    version = Self.currentVersion
    self.services = services.map(\.rawValue)
    extensions = Extensions()
  }

  /// Whether the peer offers a service.
  package func offers(_ service: PeerServiceKind) -> Bool { services.contains(service.rawValue) }

  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u16(version)
    try writer.count16(services.count)
    for service in services { try writer.u16(service) }
    try extensions.encode(into: &writer)
  }

  /// Reads a greeting.
  package init(from reader: inout Reader) throws(WireError) {
    version = try reader.u16("version")
    guard version >= 1 else { throw .unsupported(field: "protocol version", value: UInt64(version)) }
    let count = try reader.count16(limit: 64, "services")
    var services: [UInt16] = []
    for _ in 0..<count { services.append(try reader.u16("service")) }
    self.services = services
    extensions = try Extensions(from: &reader)
    try extensions.require()
  }
}

/// The answer to a request that this program doesn't know.
package struct Unsupported: PeerMessage {
  /// Its number.
  package static let type = MessageType.unsupported
  /// The type that is not known.
  package let requestType: UInt16

  /// An answer to `requestType`.
  package init(requestType: UInt16) { self.requestType = requestType }
  package func encode(into writer: inout Writer) throws(WireError) { try writer.u16(requestType) }
  package init(from reader: inout Reader) throws(WireError) { requestType = try reader.u16("request type") }
}

/// "Are you there?"
package struct Ping: NumberMessage {
  /// Its number.
  package static let type = MessageType.ping
  /// Comes back in the answer.
  package let request: UInt64

  /// A ping.
  package init(request: UInt64) { self.request = request }
}

/// "I am."
package struct Pong: NumberMessage {
  /// Its number.
  package static let type = MessageType.pong
  /// The ping's number.
  package let request: UInt64

  /// The answer to a ping.
  package init(request: UInt64) { self.request = request }
}

/// Writes an optional reason as one byte, 0 for none.
func write(_ reason: RefusalReason?, into writer: inout Writer) throws(WireError) {
  try writer.u8(reason?.rawValue ?? 0)
}

/// Reads an optional reason; numbers of later versions count as ``RefusalReason/internalFailure``.
func reason(from reader: inout Reader) throws(WireError) -> RefusalReason? {
  let number = try reader.u8("reason")
  return number == 0 ? nil : RefusalReason(rawValue: number) ?? .internalFailure
}
