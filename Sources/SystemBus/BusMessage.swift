/// A message of D-Bus (D-Bus Specification, "Message Protocol"), little-endian.
package struct BusMessage: Hashable, Sendable {
  package enum Kind: UInt8, Sendable {
    case call = 1
    case reply = 2
    case failure = 3
    case signal = 4
  }

  /// A message, or the bytes of one, that is not understood.
  package enum Fault: Error, Hashable {
    case truncated, tooLong, malformed, unsupported
  }

  /// Bytes of the start, which tells how long the whole is.
  package static let startByteCount = 16
  /// Longest message that is read. The bus allows 128 MiB; what BlueZ knows of a full room is some hundred thousand
  /// bytes.
  static let byteLimit = 1 << 20
  static let textLimit = 4096
  /// Values in a body, those inside others included.
  static let valueLimit = 50_000

  package var kind: Kind
  /// Its number at its sender.
  package var serial: UInt32
  package var replySerial: UInt32?
  /// The object that is called, or that sends a signal.
  package var path: String?
  package var interface: String?
  package var member: String?
  package var failure: String?
  package var destination: String?
  /// Who the bus says has sent it.
  package var sender: String?
  package var descriptorCount: UInt32 = 0
  package var body: [BusValue] = []

  package static func call(
    _ member: String, of interface: String, at path: String, to destination: String, _ body: [BusValue] = [],
    serial: UInt32
  ) -> BusMessage {
    BusMessage(
      kind: .call, serial: serial, path: path, interface: interface, member: member, destination: destination,
      body: body)
  }

  /// The answer to this call, to be numbered and sent.
  package func reply(_ body: [BusValue] = []) -> BusMessage {
    BusMessage(kind: .reply, serial: 1, replySerial: serial, destination: sender, body: body)
  }

  /// A refusal of this call, to be numbered and sent.
  package func refusal(_ name: String) -> BusMessage {
    BusMessage(kind: .failure, serial: 1, replySerial: serial, failure: name, destination: sender)
  }
}

// MARK: - Reading

extension BusMessage {
  /// Longest message that a bus passes on (D-Bus Specification, "Message Format").
  static let busByteLimit = 1 << 27

  /// How long the message is that begins with these ``startByteCount`` bytes, in either order of bytes and whatever its
  /// length: so that one that isn't read can be passed over.
  static func frameByteCount(start: [UInt8]) throws(Fault) -> Int {
    guard start.count >= startByteCount else { throw .truncated }
    guard [UInt8(ascii: "l"), UInt8(ascii: "B")].contains(start[0]), start[3] == 1 else { throw .malformed }
    var reader = BusReader(start)
    try reader.skip(4)
    func number() throws(Fault) -> UInt32 {
      let number = try reader.number()
      return start[0] == UInt8(ascii: "l") ? number : number.byteSwapped
    }
    let body = try number()
    _ = try number()
    let fields = try number()
    guard body <= UInt32(busByteLimit), fields <= UInt32(busByteLimit) else { throw .malformed }
    let total = (startByteCount + Int(fields) + 7) / 8 * 8 + Int(body)
    guard total <= busByteLimit else { throw .malformed }
    return total
  }

  /// How long the message is that begins with these ``startByteCount`` bytes, if it is one that is read.
  package static func byteCount(start: [UInt8]) throws(Fault) -> Int {
    let total = try frameByteCount(start: start)
    guard start[0] == UInt8(ascii: "l") else { throw .unsupported }
    guard total <= byteLimit else { throw .tooLong }
    return total
  }

  package init(bytes: [UInt8]) throws(Fault) {
    let total = try Self.byteCount(start: bytes)
    guard bytes.count == total else { throw bytes.count < total ? .truncated : .malformed }
    guard let kind = Kind(rawValue: bytes[1]) else { throw .unsupported }
    self.kind = kind
    var reader = BusReader(bytes)
    try reader.skip(4)
    let bodyByteCount = Int(try reader.number())
    serial = try reader.number()
    guard serial != 0 else { throw .malformed }
    let fieldsEnd = Self.startByteCount + Int(try reader.number())
    var signature = ""
    while reader.position < fieldsEnd {
      try reader.align(8)
      let code = try reader.byte()
      let type = try reader.signature()
      switch (code, type) {
      case (1, "o"): path = try reader.text()
      case (2, "s"): interface = try reader.text()
      case (3, "s"): member = try reader.text()
      case (4, "s"): failure = try reader.text()
      case (5, "u"): replySerial = try reader.number()
      case (6, "s"): destination = try reader.text()
      case (7, "s"): sender = try reader.text()
      case (8, "g"): signature = try reader.signature()
      case (9, "u"): descriptorCount = try reader.number()
      // What later versions add.
      case (_, "s"), (_, "o"): _ = try reader.text()
      case (_, "u"): _ = try reader.number()
      case (_, "g"): _ = try reader.signature()
      default: throw .unsupported
      }
    }
    guard reader.position == fieldsEnd else { throw .malformed }
    try reader.align(8)
    guard reader.position == total - bodyByteCount else { throw .malformed }
    for type in try BusType.all(signature) { body.append(try reader.value(type)) }
    guard reader.position == total else { throw .malformed }
  }
}

// MARK: - Writing

extension BusMessage {
  package func encoded() -> [UInt8] {
    var fields = BusWriter()
    func field(_ code: UInt8, _ type: String, _ value: String?) {
      guard let value else { return }
      fields.align(8)
      fields.byte(code)
      fields.signature(type)
      if type == "g" { fields.signature(value) } else { fields.text(value) }
    }
    field(1, "o", path)
    field(2, "s", interface)
    field(3, "s", member)
    field(4, "s", failure)
    for (code, number) in [(5, replySerial), (9, descriptorCount > 0 ? descriptorCount : nil)] {
      guard let number else { continue }
      fields.align(8)
      fields.byte(UInt8(code))
      fields.signature("u")
      fields.number(number)
    }
    field(6, "s", destination)
    field(7, "s", sender)
    var values = BusWriter()
    for value in body { values.value(value) }
    if !body.isEmpty { field(8, "g", body.map(\.type).joined()) }
    var message = BusWriter()
    message.bytes = [UInt8(ascii: "l"), kind.rawValue, 0, 1]
    message.number(UInt32(clamping: values.bytes.count))
    message.number(serial)
    message.number(UInt32(clamping: fields.bytes.count))
    message.bytes += fields.bytes
    message.align(8)
    return message.bytes + values.bytes
  }
}
