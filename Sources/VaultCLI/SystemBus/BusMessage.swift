/// A message of D-Bus (D-Bus Specification, "Message Protocol"), as far as it takes to be told of the machine's sleep:
/// little-endian, with bodies of texts, numbers and truth values.
struct BusMessage: Hashable, Sendable {
  /// What kind of message.
  enum Kind: UInt8, Sendable {
    case call = 1
    case reply = 2
    case failure = 3
    case signal = 4
  }

  /// A value in a body.
  enum Value: Hashable, Sendable {
    case text(String)
    case number(UInt32)
    case flag(Bool)
    /// A place in the list of descriptors that came with the message.
    case descriptor(UInt32)
  }

  /// A message, or the bytes of one, that is not understood.
  enum Fault: Error, Hashable {
    case truncated, tooLong, malformed, unsupported
  }

  /// Bytes of the start, which tells how long the whole is.
  static let startByteCount = 16
  /// Longest message that is read. The bus allows 128 MiB; those that come here have some hundred bytes.
  static let byteLimit = 65_536
  /// Longest text in one.
  static let textLimit = 4096
  /// Values in a body.
  static let valueLimit = 16

  var kind: Kind
  var serial: UInt32
  /// What it answers.
  var replySerial: UInt32?
  var path: String?
  var interface: String?
  var member: String?
  var destination: String?
  var sender: String?
  /// Descriptors that come with it.
  var descriptorCount: UInt32 = 0
  var body: [Value] = []

  /// A call to be sent.
  static func call(
    _ member: String, of interface: String, at path: String, to destination: String, _ body: [Value] = [],
    serial: UInt32
  ) -> BusMessage {
    BusMessage(
      kind: .call, serial: serial, path: path, interface: interface, member: member, destination: destination,
      body: body)
  }

}

// MARK: - Reading

extension BusMessage {
  /// How long the message is that begins with these ``startByteCount`` bytes.
  static func byteCount(start: [UInt8]) throws(Fault) -> Int {
    guard start.count >= startByteCount else { throw .truncated }
    guard start[0] == UInt8(ascii: "l"), start[3] == 1 else { throw .unsupported }
    var reader = BusReader(start)
    try reader.skip(4)
    let body = try reader.number()
    _ = try reader.number()
    let fields = try reader.number()
    guard body <= UInt32(byteLimit), fields <= UInt32(byteLimit) else { throw .tooLong }
    let total = (startByteCount + Int(fields) + 7) / 8 * 8 + Int(body)
    guard total <= byteLimit else { throw .tooLong }
    return total
  }

  /// Reads a whole message.
  init(bytes: [UInt8]) throws(Fault) {
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
      case (5, "u"): replySerial = try reader.number()
      case (6, "s"): destination = try reader.text()
      case (7, "s"): sender = try reader.text()
      case (8, "g"): signature = try reader.signature()
      case (9, "u"): descriptorCount = try reader.number()
      // Names of errors, and what later versions add.
      case (_, "s"), (_, "o"): _ = try reader.text()
      case (_, "u"): _ = try reader.number()
      case (_, "g"): _ = try reader.signature()
      default: throw .unsupported
      }
    }
    guard reader.position == fieldsEnd else { throw .malformed }
    try reader.align(8)
    guard reader.position == total - bodyByteCount else { throw .malformed }
    try readBody(signature, &reader)
    guard reader.position == total else { throw .malformed }
  }

  private mutating func readBody(_ signature: String, _ reader: inout BusReader) throws(Fault) {
    guard signature.utf8.count <= Self.valueLimit else { throw .tooLong }
    for type in signature.utf8 {
      switch type {
      case UInt8(ascii: "s"), UInt8(ascii: "o"): body.append(.text(try reader.text()))
      case UInt8(ascii: "u"): body.append(.number(try reader.number()))
      case UInt8(ascii: "h"): body.append(.descriptor(try reader.number()))
      case UInt8(ascii: "b"):
        let value = try reader.number()
        guard value <= 1 else { throw .malformed }
        body.append(.flag(value == 1))
      default: throw .unsupported
      }
    }
  }

}

// MARK: - Writing

extension BusMessage {
  /// The bytes.
  func encoded() -> [UInt8] {
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
    var signature = ""
    for value in body {
      switch value {
      case .text(let text):
        signature += "s"
        values.text(text)
      case .number(let number):
        signature += "u"
        values.number(number)
      case .flag(let flag):
        signature += "b"
        values.number(flag ? 1 : 0)
      case .descriptor(let place):
        signature += "h"
        values.number(place)
      }
    }
    if !body.isEmpty { field(8, "g", signature) }
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

/// Reads what D-Bus aligns: numbers at multiples of their size, with zeros between.
struct BusReader {
  private let bytes: [UInt8]
  private(set) var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func skip(_ count: Int) throws(BusMessage.Fault) {
    guard count <= bytes.count - position else { throw .truncated }
    position += count
  }

  mutating func align(_ unit: Int) throws(BusMessage.Fault) {
    while position % unit != 0 { guard try byte() == 0 else { throw .malformed } }
  }

  mutating func byte() throws(BusMessage.Fault) -> UInt8 {
    guard position < bytes.count else { throw .truncated }
    defer { position += 1 }
    return bytes[position]
  }

  mutating func number() throws(BusMessage.Fault) -> UInt32 {
    try align(4)
    var value: UInt32 = 0
    for place in 0..<4 { value |= UInt32(try byte()) << UInt32(8 * place) }
    return value
  }

  mutating func text() throws(BusMessage.Fault) -> String {
    let count = try number()
    guard count <= UInt32(BusMessage.textLimit) else { throw .tooLong }
    return try text(Int(count))
  }

  mutating func signature() throws(BusMessage.Fault) -> String { try text(Int(try byte())) }

  /// So many bytes and a zero.
  private mutating func text(_ count: Int) throws(BusMessage.Fault) -> String {
    guard count < bytes.count - position else { throw .truncated }
    let taken = bytes[position..<(position + count)]
    guard bytes[position + count] == 0, !taken.contains(0), let text = String(validating: taken, as: UTF8.self) else {
      throw .malformed
    }
    position += count + 1
    return text
  }
}

/// The reverse of ``BusReader``.
struct BusWriter {
  var bytes: [UInt8] = []

  mutating func align(_ unit: Int) { while bytes.count % unit != 0 { bytes.append(0) } }

  mutating func byte(_ value: UInt8) { bytes.append(value) }

  mutating func number(_ value: UInt32) {
    align(4)
    for place in 0..<4 { bytes.append(UInt8(truncatingIfNeeded: value >> UInt32(8 * place))) }
  }

  mutating func text(_ value: String) {
    number(UInt32(clamping: value.utf8.count))
    bytes += Array(value.utf8) + [0]
  }

  mutating func signature(_ value: String) {
    bytes.append(UInt8(clamping: value.utf8.count))
    bytes += Array(value.utf8) + [0]
  }
}
