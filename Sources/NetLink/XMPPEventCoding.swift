package import WireCodec
package import XMPPRequests

extension XMPPEvent {
  private static let reasonLimit = 256

  package var encoded: [UInt8] {
    var writer = BodyWriter()
    switch self {
    case .message(let message):
      writer.u8(1)
      writer.message(message)
    case .copy(let message):
      writer.u8(2)
      writer.message(message)
    case .parcel(let part):
      writer.u8(3)
      writer.text(part.id)
      writer.address(part.from)
      writer.u8(UInt8(clamping: part.number))
      writer.u8(UInt8(clamping: part.count))
      writer.block(part.bytes)
      writer.optional(part.stamp) { $0.text($1) }
      writer.optional(part.carriage) { $0.carriage($1) }
    case .receipt(let id, let from):
      writer.u8(4)
      writer.text(id)
      writer.address(from)
    case .undelivered(let id, let to, let condition):
      writer.u8(5)
      writer.text(id)
      writer.optional(to) { $0.address($1) }
      writer.text(condition.description)
    case .presence(let presence):
      writer.u8(6)
      writer.address(presence.from)
      writer.text(presence.state.rawValue)
      writer.optional(presence.status) { $0.text($1) }
    case .subscription(let change, let from):
      writer.u8(7)
      writer.text(change.rawValue)
      writer.address(from)
    case .contact(let contact):
      writer.u8(8)
      writer.contact(contact)
    case .ignored(let reason):
      writer.u8(9)
      writer.text(plain(reason, limit: Self.reasonLimit))
    case .missed(let count):
      writer.u8(10)
      writer.number(UInt32(clamping: count))
    case .closed(let error):
      writer.u8(11)
      writer.optional(error) { $0.error($1) }
    }
    return writer.bytes
  }

  package init(encoded bytes: [UInt8]) throws(WireError) {
    var reader = Reader(bytes.span.bytes)
    switch try reader.u8("event") {
    case 1: self = .message(try reader.message())
    case 2: self = .copy(try reader.message())
    case 3: self = .parcel(try Self.part(&reader))
    case 4: self = .receipt(id: try reader.name("id"), from: try reader.address("from"))
    case 5:
      self = .undelivered(id: try reader.name("id"), to: try reader.optionalAddress("to"), try reader.condition())
    case 6:
      self = .presence(
        XMPPPresence(
          from: try reader.address("from"), state: try reader.word("state"),
          status: try reader.optionalText(limit: XMPPPresence.statusLimit, "status")))
    case 7: self = .subscription(try reader.word("change"), from: try reader.address("from"))
    case 8: self = .contact(try reader.contact())
    case 9: self = .ignored(try reader.words(limit: Self.reasonLimit, "reason"))
    case 10: self = .missed(Int(try reader.u32("missed")))
    case 11: self = .closed(try reader.optional("error") { reader throws(WireError) in try XMPPError(&reader) })
    default: throw .invalidValue(field: "event")
    }
    try reader.finish()
  }

  private static func part(_ reader: inout Reader) throws(WireError) -> XMPPParcelPart {
    let part = XMPPParcelPart(
      id: try reader.words(limit: XMPPParcelPart.idLimit, "id"), from: try reader.address("from"),
      number: Int(try reader.u8("number")), count: Int(try reader.u8("count")),
      bytes: try reader.bytes32(limit: XMPPParcelPart.sizeLimit, "part"),
      stamp: try reader.optional("stamp") { reader throws(WireError) in try reader.words(limit: 64, "stamp") },
      carriage: try reader.optional("carriage") { reader throws(WireError) in try reader.carriage() })
    guard XMPPParcelPart.isID(part.id), (1...XMPPParcelPart.countLimit).contains(part.count),
      part.number < part.count
    else { throw .invalidValue(field: "part") }
    return part
  }
}
