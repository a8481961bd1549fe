/// Reads a message from anybody on the network. Nothing is allocated that isn't there, and no name is followed in circles.
struct DNSReader {
  /// Pointers in one name: no more than it can have labels.
  static let hopLimit = 127
  /// Labels of all names in one message: pointers make many of few bytes. Devices of every kind stay below a tenth of it.
  static let labelLimit = 1000
  /// Texts of one record: a service that has more of them is none that is looked for here.
  static let textLimit = 16
  private static let internet: UInt16 = 1
  private static let anyClass: UInt16 = 255

  private let bytes: [UInt8]
  private var position = 0
  /// Labels that may still come.
  private var labelsLeft = DNSReader.labelLimit

  init(_ bytes: [UInt8]) throws(DNSMessage.Fault) {
    guard bytes.count <= DNSMessage.byteLimit else { throw .tooLong }
    self.bytes = bytes
  }

  mutating func message() throws(DNSMessage.Fault) -> DNSMessage {
    _ = try number()
    let flags = try number()
    // The kind of question, and the response code.
    guard flags & 0x7800 == 0, flags & 0xF == 0 else { throw .unsupported }
    var message = DNSMessage()
    message.isResponse = flags & 0x8000 != 0
    message.isTruncated = flags & 0x0200 != 0
    var counts: [Int] = []
    for _ in 0..<4 { counts.append(Int(try number())) }
    guard counts.reduce(0, +) <= DNSMessage.entryLimit else { throw .tooMany }
    for _ in 0..<counts[0] { if let question = try question() { message.questions.append(question) } }
    for _ in 0..<counts[1] { if let record = try record() { message.answers.append(record) } }
    for _ in 0..<counts[2] { _ = try record() }
    for _ in 0..<counts[3] { if let record = try record() { message.additionals.append(record) } }
    guard position == bytes.count else { throw .malformed }
    return message
  }

  /// Nil for one of another class. Whether it wants an answer for itself alone makes no difference here.
  private mutating func question() throws(DNSMessage.Fault) -> DNSQuestion? {
    let name = try name()
    let type = try number()
    let kind = try number() & 0x7FFF
    return kind == Self.internet || kind == Self.anyClass ? DNSQuestion(name, type) : nil
  }

  /// Nil for one that is of no use here.
  private mutating func record() throws(DNSMessage.Fault) -> DNSRecord? {
    let name = try name()
    let type = try number()
    let kind = try number()
    let lifetime = UInt32(try number()) << 16 | UInt32(try number())
    let count = Int(try number())
    guard count <= bytes.count - position else { throw .truncated }
    let end = position + count
    guard kind & 0x7FFF == Self.internet, let data = try data(type, until: end) else {
      position = end
      return nil
    }
    guard position == end else { throw .malformed }
    return DNSRecord(name, data, lifetime: lifetime, isUnique: kind & 0x8000 != 0)
  }

  private mutating func data(_ type: UInt16, until end: Int) throws(DNSMessage.Fault) -> DNSData? {
    switch type {
    case DNSData.pointerType: return .pointer(try name())
    case DNSData.serviceType:
      _ = try number()
      _ = try number()
      let port = try number()
      return .service(host: try name(), port: port)
    case DNSData.textsType:
      var texts: [[UInt8]] = []
      while position < end {
        let count = Int(bytes[position])
        guard count < end - position else { throw .malformed }
        if texts.count < Self.textLimit { texts.append(Array(bytes[(position + 1)..<(position + 1 + count)])) }
        position += 1 + count
      }
      guard !texts.isEmpty else { throw .malformed }
      return .texts(texts)
    case 1: return .four(try address(4, until: end))
    case 28: return .six(try address(16, until: end))
    default: return nil
    }
  }

  private mutating func address(_ count: Int, until end: Int) throws(DNSMessage.Fault) -> [UInt8] {
    guard end - position == count else { throw .malformed }
    defer { position = end }
    return Array(bytes[position..<end])
  }

  /// Each pointer leads to before everything that was read of the name so far (RFC 1035, section 4.1.4: to a prior occurrence).
  private mutating func name() throws(DNSMessage.Fault) -> DNSName {
    var labels: [[UInt8]] = []
    var (place, first, hops, total) = (position, position, 0, 1)
    var end: Int?
    while true {
      guard place < bytes.count else { throw .truncated }
      let length = Int(bytes[place])
      switch length & 0xC0 {
      case 0:
        guard length < bytes.count - place else { throw .truncated }
        guard length > 0 else {
          position = end ?? place + 1
          guard let name = DNSName(labels) else { throw .malformed }
          return name
        }
        total += 1 + length
        guard total <= DNSName.byteLimit else { throw .tooLong }
        labelsLeft -= 1
        guard labelsLeft >= 0 else { throw .tooMany }
        labels.append(Array(bytes[(place + 1)...(place + length)]))
        place += 1 + length
      case 0xC0:
        guard bytes.count - place >= 2 else { throw .truncated }
        let target = (length & 0x3F) << 8 | Int(bytes[place + 1])
        if end == nil { end = place + 2 }
        hops += 1
        guard target < first, target >= DNSMessage.headerByteCount, hops <= Self.hopLimit else { throw .malformed }
        (place, first) = (target, target)
      default: throw .malformed
      }
    }
  }

  private mutating func number() throws(DNSMessage.Fault) -> UInt16 {
    guard bytes.count - position >= 2 else { throw .truncated }
    defer { position += 2 }
    return UInt16(bytes[position]) << 8 | UInt16(bytes[position + 1])
  }
}

extension DNSMessage {
  package init(_ bytes: [UInt8]) throws(Fault) {
    var reader = try DNSReader(bytes)
    self = try reader.message()
  }
}
