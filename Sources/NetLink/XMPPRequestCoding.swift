package import WireCodec
package import XMPPRequests

extension XMPPRequest {
  /// Without a password, which goes ahead.
  package func encoded(for connection: UInt64) -> [UInt8] {
    var writer = BodyWriter()
    writer.number(connection)
    switch self {
    case .message(let text, let to, let id, let wantsReceipt):
      writer.u8(1)
      writer.text(text)
      writer.address(to)
      writer.text(id)
      writer.flag(wantsReceipt)
    case .part(let part):
      writer.u8(2)
      writer.text(part.id)
      writer.address(part.to)
      writer.u8(UInt8(clamping: part.number))
      writer.u8(UInt8(clamping: part.count))
      writer.block(part.bytes)
      writer.optional(part.carriage) { $0.carriage($1) }
    case .copies: writer.u8(3)
    case .acknowledge(let id, let to):
      writer.u8(4)
      writer.text(id)
      writer.address(to)
    case .features(let address):
      writer.u8(5)
      writer.optional(address) { $0.address($1) }
    case .archive(let contact, let place, let limit):
      writer.u8(6)
      writer.optional(contact) { $0.address($1) }
      let (code, name): (UInt8, String) =
        switch place {
        case .beginning: (0, "")
        case .end: (1, "")
        case .after(let name): (2, name)
        case .before(let name): (3, name)
        }
      writer.u8(code)
      writer.text(name)
      writer.u8(UInt8(clamping: limit))
    case .roster: writer.u8(7)
    case .setContact(let contact, let name):
      writer.u8(8)
      writer.address(contact)
      writer.optional(name) { $0.text($1) }
    case .removeContact(let contact):
      writer.u8(9)
      writer.address(contact)
    case .change(let change, let contact):
      writer.u8(10)
      writer.text(change.rawValue)
      writer.address(contact)
    case .announce(let state, let status, let priority, let to):
      writer.u8(11)
      writer.text(state.rawValue)
      writer.optional(status) { $0.text($1) }
      writer.u8(UInt8(bitPattern: priority))
      writer.optional(to) { $0.address($1) }
    case .putAside: writer.u8(12)
    case .view(let name):
      writer.u8(13)
      writer.text(name)
    case .ping(let address):
      writer.u8(14)
      writer.optional(address) { $0.address($1) }
    case .changePassword: writer.u8(15)
    }
    return writer.bytes
  }

  /// Reads a question and whom it is for. `password` is what came ahead.
  package static func decode(
    _ bytes: [UInt8], password: Password?
  ) throws(WireError) -> (connection: UInt64, request: XMPPRequest) {
    var reader = Reader(bytes.span.bytes)
    let connection = try reader.u64("connection")
    let request = try Self(&reader, password)
    try reader.finish()
    return (connection, request)
  }

  private init(_ reader: inout Reader, _ password: Password?) throws(WireError) {
    switch try reader.u8("request") {
    case 1:
      self = .message(
        text: try reader.text(limit: XMPPMessage.bodyLimit, "text"), to: try reader.address("to"),
        id: try reader.name("id"), wantsReceipt: try reader.flag("receipt"))
    case 2:
      self = .part(
        XMPPOutgoingPart(
          id: try reader.name("id"), to: try reader.address("to"), number: Int(try reader.u8("number")),
          count: Int(try reader.u8("count")), bytes: try reader.bytes32(limit: XMPPParcelPart.sizeLimit, "part"),
          carriage: try reader.optional("carriage") { reader throws(WireError) in try reader.carriage() }))
    case 3: self = .copies
    case 4: self = .acknowledge(id: try reader.name("id"), to: try reader.address("to"))
    case 5: self = .features(of: try reader.optionalAddress("whom"))
    case 6:
      let contact = try reader.optionalAddress("whom")
      let code = try reader.u8("place")
      let name = try reader.name("name")
      let place: XMPPArchivePlace
      switch code {
      case 0 where name.isEmpty: place = .beginning
      case 1 where name.isEmpty: place = .end
      case 2: place = .after(name)
      case 3: place = .before(name)
      default: throw .invalidValue(field: "place")
      }
      self = .archive(with: contact, from: place, limit: Int(try reader.u8("limit")))
    case 7: self = .roster
    case 8:
      self = .setContact(try reader.address("contact"), name: try reader.optionalText(limit: 4096, "name"))
    case 9: self = .removeContact(try reader.address("contact"))
    case 10: self = .change(try reader.word("change"), with: try reader.address("contact"))
    case 11:
      self = .announce(
        try reader.word("state"), status: try reader.optionalText(limit: 4096, "status"),
        priority: Int8(bitPattern: try reader.u8("priority")), to: try reader.optionalAddress("whom"))
    case 12: self = .putAside
    case 13: self = .view(putAside: try reader.name("name"))
    case 14: self = .ping(try reader.optionalAddress("whom"))
    case 15:
      guard let password else { throw .invalidValue(field: "password") }
      self = .changePassword(password)
    default: throw .invalidValue(field: "request")
    }
  }
}

extension XMPPReply {
  private static let listLimit = 20_000

  package var encoded: [UInt8] {
    var writer = BodyWriter()
    switch self {
    case .done: writer.u8(0)
    case .words(let words):
      writer.u8(1)
      writer.list(words) { $0.text($1) }
    case .page(let page):
      writer.u8(2)
      writer.list(page.messages) { $0.message($1) }
      writer.optional(page.last) { $0.text($1) }
      writer.optional(page.first) { $0.text($1) }
      writer.flag(page.isComplete)
    case .contacts(let contacts):
      writer.u8(3)
      writer.list(contacts) { $0.contact($1) }
    }
    return writer.bytes
  }

  package init(encoded bytes: [UInt8]) throws(WireError) {
    var reader = Reader(bytes.span.bytes)
    switch try reader.u8("reply") {
    case 0: self = .done
    case 1:
      self = .words(
        try reader.list(limit: Self.listLimit, "words") { reader throws(WireError) in
          try reader.text(limit: 4 << 20, "word")
        })
    case 2:
      self = .page(
        XMPPArchivePage(
          messages: try reader.list(limit: XMPPArchivePage.limit, "messages") { reader throws(WireError) in
            try reader.message()
          },
          last: try reader.optionalName("last"), first: try reader.optionalName("first"),
          isComplete: try reader.flag("complete")))
    case 3:
      self = .contacts(
        try reader.list(limit: Self.listLimit, "contacts") { reader throws(WireError) in try reader.contact() })
    default: throw .invalidValue(field: "reply")
    }
    try reader.finish()
  }
}
