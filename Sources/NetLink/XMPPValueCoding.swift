package import WireCodec
package import XMPPRequests

// Values that several messages have.
extension BodyWriter {
  mutating func address(_ value: JID) { text(value.description) }

  mutating func message(_ value: XMPPMessage) {
    optional(value.id) { $0.text($1) }
    address(value.from)
    optional(value.to) { $0.address($1) }
    text(value.body)
    optional(value.stamp) { $0.text($1) }
    flag(value.wantsReceipt)
    optional(value.archiveID) { $0.text($1) }
    optional(value.subject) { $0.text($1) }
    number(UInt32(clamping: value.missing))
  }

  mutating func contact(_ value: XMPPContact) {
    address(value.address)
    optional(value.name) { $0.text($1) }
    text(value.subscription.rawValue)
    flag(value.isAsking)
  }

  mutating func carriage(_ value: XMPPCarriage) {
    u8(value.branch)
    u8(value.hops)
  }
}

extension JID {
  package var encoded: [UInt8] {
    var writer = BodyWriter()
    writer.address(self)
    return writer.bytes
  }

  package init(encoded bytes: [UInt8]) throws(WireError) {
    var reader = Reader(bytes.span.bytes)
    self = try reader.address("address")
    try reader.finish()
  }
}

extension Reader {
  /// Names of stanzas and of archives.
  static var nameLimit: Int { 256 }

  /// An address in its normal form.
  mutating func address(_ field: StaticString) throws(WireError) -> JID {
    let text = try text(limit: 3 * JID.limits.part + 2, field)
    guard let address = try? JID(text), address.description == text else {
      throw .invalidValue(field: field.description)
    }
    return address
  }

  mutating func name(_ field: StaticString) throws(WireError) -> String { try text(limit: Self.nameLimit, field) }

  mutating func optionalAddress(_ field: StaticString) throws(WireError) -> JID? {
    try optional(field) { reader throws(WireError) in try reader.address(field) }
  }

  mutating func optionalName(_ field: StaticString) throws(WireError) -> String? {
    try optionalText(limit: Self.nameLimit, field)
  }

  mutating func optionalText(limit: Int, _ field: StaticString) throws(WireError) -> String? {
    try optional(field) { reader throws(WireError) in try reader.text(limit: limit, field) }
  }

  /// A word of a list that both sides know.
  mutating func word<Value: RawRepresentable>(
    _ field: StaticString
  ) throws(WireError) -> Value where Value.RawValue == String {
    guard let value = Value(rawValue: try words(limit: 32, field)) else {
      throw .invalidValue(field: field.description)
    }
    return value
  }

  mutating func condition() throws(WireError) -> XMPPCondition {
    let word = try words(limit: 64, "condition")
    let condition = XMPPCondition(word)
    guard condition.description == word else { throw .invalidValue(field: "condition") }
    return condition
  }

  mutating func message() throws(WireError) -> XMPPMessage {
    XMPPMessage(
      id: try optionalName("id"), from: try address("from"), to: try optionalAddress("to"),
      body: try text(limit: XMPPMessage.takenLimit, "body"),
      stamp: try optional("stamp") { reader throws(WireError) in try reader.words(limit: 64, "stamp") },
      wantsReceipt: try flag("receipt"),
      archiveID: try optionalName("archive"),
      subject: try optionalText(limit: XMPPMessage.subjectLimit, "subject"),
      missing: Int(try u32("missing")))
  }

  mutating func contact() throws(WireError) -> XMPPContact {
    XMPPContact(
      address: try address("contact"), name: try optionalText(limit: XMPPContact.nameLimit, "name"),
      subscription: try word("subscription"), isAsking: try flag("asking"))
  }

  mutating func carriage() throws(WireError) -> XMPPCarriage {
    guard let carriage = XMPPCarriage(branch: try u8("branch"), hops: try u8("hops")) else {
      throw .invalidValue(field: "carriage")
    }
    return carriage
  }
}
