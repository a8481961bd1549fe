import Testing

@testable import LocalNames

@Suite("Messages of multicast DNS")
struct DNSMessageTests {
  /// A name that is surely one.
  static func name(_ text: String) -> DNSName {
    guard let name = DNSName(text) else { preconditionFailure("no name: \(text)") }
    return name
  }

  static let records: [DNSRecord] = [
    DNSRecord(
      name("_vault-peer._tcp.local"), .pointer(name("abc._vault-peer._tcp.local")), lifetime: 120, isUnique: false),
    DNSRecord(
      name("abc._vault-peer._tcp.local"), .service(host: name("abc.local"), port: 4721), lifetime: 120,
      isUnique: true),
    DNSRecord(name("abc._vault-peer._tcp.local"), .texts([[1, 0, 255], []]), lifetime: .max, isUnique: false),
    DNSRecord(name("abc.local"), .four([192, 0, 2, 7]), lifetime: 0, isUnique: true),
    DNSRecord(name("abc.local"), .six(Array(0..<16)), lifetime: 1, isUnique: false),
  ]

  static var full: DNSMessage {
    var message = DNSMessage()
    message.isResponse = true
    message.isTruncated = true
    message.questions = [DNSQuestion(name("_vault-peer._tcp.local"), 12)]
    message.answers = Array(records.prefix(3))
    message.additionals = Array(records.suffix(2))
    return message
  }

  // Written out by hand after RFC 1035, section 4, and RFC 6762, section 18.
  @Test("a question is what the specification says")
  func question() throws {
    var message = DNSMessage()
    message.questions = [DNSQuestion(Self.name("_a._tcp.local"), 12)]
    message.answers = [
      DNSRecord(Self.name("_a._tcp.local"), .pointer(Self.name("x._a._tcp.local")), lifetime: 258, isUnique: false)
    ]
    let expected: [UInt8] =
      [0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]
      + [2] + Array("_a".utf8) + [4] + Array("_tcp".utf8) + [5] + Array("local".utf8) + [0, 0, 12, 0, 1]
      + [0xC0, 12, 0, 12, 0, 1, 0, 0, 1, 2, 0, 4, 1] + Array("x".utf8) + [0xC0, 12]
    #expect(try message.encoded() == expected)
    #expect(try DNSMessage(expected) == message)
  }

  @Test("a message with records of all types reads itself")
  func roundTrip() throws {
    let bytes = try Self.full.encoded()
    #expect(try DNSMessage(bytes) == Self.full)
    #expect(bytes.count < 200)
  }

  @Test("what is cut off, or goes on behind its end, is refused")
  func broken() throws {
    let bytes = try Self.full.encoded()
    for count in 0..<bytes.count { #expect(throws: DNSMessage.Fault.self) { try DNSMessage(Array(bytes[..<count])) } }
    #expect(throws: DNSMessage.Fault.malformed) { try DNSMessage(bytes + [0]) }
  }

  @Test("any byte may be any other: it is a message that reads itself, or refused")
  func mutations() throws {
    let bytes = try Self.full.encoded()
    var random = SystemRandomNumberGenerator()
    var accepted = 0
    for place in 0..<bytes.count {
      for _ in 0..<16 {
        var changed = bytes
        changed[place] = UInt8.random(in: 0...255, using: &random)
        guard let message = try? DNSMessage(changed) else { continue }
        accepted += 1
        #expect(try DNSMessage(try message.encoded()) == message)
      }
    }
    #expect(accepted > 0)
  }

  @Test("names are the same in upper and lower case, and have their limits")
  func names() {
    #expect(DNSName("ABC.Local") == DNSName("abc.local"))
    #expect(DNSName([[UInt8](repeating: 65, count: 63)]) != nil)
    #expect(DNSName([[UInt8](repeating: 65, count: 64)]) == nil)
    #expect(DNSName([[]]) == nil)
    #expect(DNSName([[UInt8]](repeating: [65], count: 127)) != nil)
    #expect(DNSName([[UInt8]](repeating: [65], count: 128)) == nil)
    #expect(DNSName("local")?.label(of: Self.name("x.local")) == Array("x".utf8))
    #expect(DNSName("local")?.label(of: Self.name("x.y.local")) == nil)
    #expect(DNSName("local")?.label(of: Self.name("x.other")) == nil)
  }

  private func query(_ name: [UInt8], kind: UInt16 = 1) -> [UInt8] {
    [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0] + name + [0, 12, UInt8(kind >> 8), UInt8(kind & 255)]
  }

  @Test("a pointer leads back, never to itself, ahead, into the header or in a circle")
  func pointers() {
    for name: [UInt8] in [
      [0xC0, 12], [0xC0, 14], [0xC0, 0], [1, 97, 0xC0, 12], [0xC0, 255], [0x80, 0], [0x40, 0],
    ] {
      #expect(throws: DNSMessage.Fault.self, "\(name)") { try DNSMessage(query(name)) }
    }
    // Two names, each of which ends in the other.
    let circle: [UInt8] =
      [0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0] + [1, 97, 0xC0, 20, 0, 12, 0, 1] + [1, 97, 0xC0, 12, 0, 12, 0, 1]
    #expect(throws: DNSMessage.Fault.malformed) { try DNSMessage(circle) }
  }

  @Test("a name that grows by pointers keeps the limit of names")
  func long() {
    var bytes: [UInt8] = [0, 0, 0, 0, 0, 40, 0, 0, 0, 0, 0, 0]
    var last = 0
    for number in 0..<40 {
      let start = bytes.count
      let end: [UInt8] = number == 0 ? [0] : [0xC0 | UInt8(last >> 8), UInt8(last & 255)]
      bytes += [7] + Array("abcdefg".utf8) + end
      bytes += [0, 12, 0, 1]
      last = start
    }
    #expect(throws: DNSMessage.Fault.tooLong) { try DNSMessage(bytes) }
  }

  @Test("more entries, or bytes, than anybody needs are refused before they are looked at")
  func limits() {
    #expect(throws: DNSMessage.Fault.tooMany) {
      try DNSMessage([0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
    }
    #expect(throws: DNSMessage.Fault.tooLong) {
      try DNSMessage([UInt8](repeating: 0, count: DNSMessage.byteLimit + 1))
    }
    var message = DNSMessage()
    message.answers = [DNSRecord](repeating: Self.records[0], count: DNSMessage.entryLimit + 1)
    #expect(throws: DNSMessage.Fault.tooMany) { try message.encoded() }
    message.answers = [DNSRecord](
      repeating: DNSRecord(
        Self.name("a"), .texts([[UInt8](repeating: 0, count: 255)]), lifetime: 1, isUnique: false),
      count: 40)
    #expect(throws: DNSMessage.Fault.tooLong) { try message.encoded() }
  }

  @Test("what isn't a question or its answer is refused, and records of no use are passed over")
  func others() throws {
    #expect(throws: DNSMessage.Fault.unsupported) { try DNSMessage([0, 0, 0x28, 0, 0, 0, 0, 0, 0, 0, 0, 0]) }
    #expect(throws: DNSMessage.Fault.unsupported) { try DNSMessage([0, 0, 0x80, 3, 0, 0, 0, 0, 0, 0, 0, 0]) }
    #expect(try DNSMessage(query([0], kind: 3)).questions.isEmpty)
    #expect(try DNSMessage(query([0], kind: 0x8001)).questions.count == 1)
    // NSEC of the root, 2 bytes.
    let record: [UInt8] = [0, 0, 47, 0x80, 1, 0, 0, 0, 120, 0, 2, 9, 9]
    #expect(try DNSMessage([0, 0, 0x84, 0, 0, 0, 0, 1, 0, 0, 0, 0] + record).answers.isEmpty)
  }

  @Test(
    "data of a wrong length is refused",
    arguments: [
      (UInt8(1), [1, 2, 3] as [UInt8]), (28, [1, 2, 3, 4]), (16, []), (16, [3, 1, 2]), (12, [0, 0]),
      (33, [0, 0, 0, 0, 0]),
    ] as [(UInt8, [UInt8])])
  func data(type: UInt8, bytes: [UInt8]) {
    let record: [UInt8] = [0, 0, type, 0, 1, 0, 0, 0, 120, 0, UInt8(bytes.count)] + bytes
    #expect(throws: DNSMessage.Fault.self) { try DNSMessage([0, 0, 0x84, 0, 0, 0, 0, 1, 0, 0, 0, 0] + record) }
  }
}
