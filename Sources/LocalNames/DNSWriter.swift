/// Writes a message; what ends like a name before points there.
struct DNSWriter {
  private var bytes: [UInt8] = []
  /// Where the ends of names stand.
  private var places: [[[UInt8]]: Int] = [:]
  /// Beyond, a pointer reaches nothing.
  private static let pointerLimit = 0x4000

  fileprivate mutating func write(_ message: DNSMessage) throws(DNSMessage.Fault) -> [UInt8] {
    let count = message.questions.count + message.answers.count + message.additionals.count
    guard count <= DNSMessage.entryLimit else { throw .tooMany }
    number(0)
    // Answers are this device's own word (RFC 6762, section 18.4).
    number((message.isResponse ? 0x8400 : 0) | (message.isTruncated ? 0x0200 : 0))
    for count in [message.questions.count, message.answers.count, 0, message.additionals.count] {
      number(UInt16(truncatingIfNeeded: count))
    }
    for question in message.questions {
      name(question.name)
      number(question.type)
      number(1)
    }
    for record in message.answers + message.additionals { try write(record) }
    guard bytes.count <= DNSMessage.byteLimit else { throw .tooLong }
    return bytes
  }

  private mutating func write(_ record: DNSRecord) throws(DNSMessage.Fault) {
    name(record.name)
    number(record.data.type)
    number(record.isUnique ? 0x8001 : 1)
    number(UInt16(truncatingIfNeeded: record.lifetime >> 16))
    number(UInt16(truncatingIfNeeded: record.lifetime))
    let start = bytes.count
    number(0)
    switch record.data {
    case .pointer(let target): name(target)
    case .service(let host, let port):
      number(0)
      number(0)
      number(port)
      name(host)
    case .texts(let texts):
      guard !texts.isEmpty, texts.allSatisfy({ $0.count <= 255 }) else { throw .malformed }
      for text in texts { bytes += [UInt8(truncatingIfNeeded: text.count)] + text }
    case .four(let address):
      guard address.count == 4 else { throw .malformed }
      bytes += address
    case .six(let address):
      guard address.count == 16 else { throw .malformed }
      bytes += address
    }
    guard bytes.count <= DNSMessage.byteLimit else { throw .tooLong }
    let count = bytes.count - start - 2
    bytes[start] = UInt8(truncatingIfNeeded: count >> 8)
    bytes[start + 1] = UInt8(truncatingIfNeeded: count)
  }

  private mutating func name(_ name: DNSName) {
    var rest = name.labels[...]
    while let label = rest.first {
      if let place = places[Array(rest)] {
        number(UInt16(truncatingIfNeeded: 0xC000 | place))
        return
      }
      if bytes.count < Self.pointerLimit { places[Array(rest)] = bytes.count }
      bytes += [UInt8(truncatingIfNeeded: label.count)] + label
      rest.removeFirst()
    }
    bytes.append(0)
  }

  private mutating func number(_ value: UInt16) {
    bytes += [UInt8(truncatingIfNeeded: value >> 8), UInt8(truncatingIfNeeded: value)]
  }
}

extension DNSMessage {
  /// Throws where there is more than a message may have.
  package func encoded() throws(Fault) -> [UInt8] {
    var writer = DNSWriter()
    return try writer.write(self)
  }
}
