package import WireCodec

/// A message of fixed type. Public ones only: the release, which carries a share, is written by hand.
package protocol PeerMessage: WireValue, Hashable, Sendable {
  static var type: MessageType { get }
}

extension PeerMessage {
  static func read(_ body: RawSpan) throws(WireError) -> Self { try decode(body, limit: type.byteLimit) }
}

/// First message in each direction: protocol version and what can be asked for.
package struct Hello: PeerMessage {
  package static let type = MessageType.hello
  package static let currentVersion: UInt16 = 1
  package let version: UInt16
  /// Numbers of the services it offers; unknown ones are allowed.
  package let services: [UInt16]
  package let extensions: Extensions

  package init(services: [PeerServiceKind]) {
    version = Self.currentVersion
    self.services = services.map(\.rawValue)
    extensions = Extensions()
  }

  package func offers(_ service: PeerServiceKind) -> Bool { services.contains(service.rawValue) }

  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u16(version)
    try writer.count16(services.count)
    for service in services { try writer.u16(service) }
    try extensions.encode(into: &writer)
  }

  package init(from reader: inout Reader) throws(WireError) {
    version = try reader.u16("version")
    guard version >= 1 else { throw .unsupported(field: "protocol version", value: UInt64(version)) }
    let count = try reader.count16(limit: 64, "services")
    services = try values(count, from: &reader) { reader throws(WireError) in try reader.u16("service") }
    extensions = try Extensions(from: &reader)
    try extensions.require()
  }
}

/// The answer to a request that this program doesn't know.
package struct Unsupported: PeerMessage {
  package static let type = MessageType.unsupported
  package let requestType: UInt16

  /// An answer to `requestType`.
  package init(requestType: UInt16) { self.requestType = requestType }
  package func encode(into writer: inout Writer) throws(WireError) { try writer.u16(requestType) }
  package init(from reader: inout Reader) throws(WireError) { requestType = try reader.u16("request type") }
}

/// "Are you there?"
package typealias Ping = NumberMessage<PingKind>
package enum PingKind: MessageKind { package static let type = MessageType.ping }

/// "I am."
package typealias Pong = NumberMessage<PongKind>
package enum PongKind: MessageKind { package static let type = MessageType.pong }
