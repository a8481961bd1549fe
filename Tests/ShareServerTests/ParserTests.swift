import Sodium
import Testing

@testable import ShareServer

@Suite struct ParserTests {
  @Test func `an identifier is its 32 digits`() throws {
    let text = "00ff10203040506070809abcdef01234"
    let identifier = try #require(Identifier(text))
    #expect(identifier.description == text)
    #expect(Identifier(bytes: identifier.bytes) == identifier)
    #expect(identifier.short == "00ff1020")
  }

  @Test(arguments: [
    "", "00", "00FF10203040506070809abcdef01234", "00ff10203040506070809abcdef0123",
    "00ff10203040506070809abcdef012345",
    "g0ff10203040506070809abcdef01234", " 0ff10203040506070809abcdef01234", "é0ff10203040506070809abcdef0123",
  ])
  func `nothing else is an identifier`(_ text: String) { #expect(Identifier(text) == nil) }

  private static let one = String(repeating: "1", count: 32)
  private static let two = String(repeating: "2", count: 32)

  @Test func `no field of recipients means everybody`() throws {
    #expect(try RecipientsField.parse([]) == nil)
  }

  @Test func `recipients are separated by commas and blanks`() throws {
    let expected = [Identifier(Self.one), Identifier(Self.two)]
    #expect(try RecipientsField.parse(["\(Self.one),\(Self.two)"]) == expected)
    #expect(try RecipientsField.parse([" \(Self.one) ,\t\(Self.two) "]) == expected)
    #expect(try RecipientsField.parse([Self.one, Self.two]) == expected)
    #expect(try RecipientsField.parse(["\(Self.one),\(Self.two),\(Self.one)"]) == expected)
  }

  @Test(arguments: ["", ",", "\(one),", "\(one);\(two)", "\(one) \(two)", "*"])
  func `other fields of recipients are refused`(_ text: String) {
    #expect(throws: Refusal.self) { try RecipientsField.parse([text]) }
  }

  @Test func `a share has at most 256 recipients`() throws {
    func field(_ count: Int) -> String {
      (0..<count).map { number in String(repeating: "0", count: 32 - "\(number)".count) + "\(number)" }
        .joined(separator: ",")
    }
    #expect(try RecipientsField.parse([field(256)])?.count == 256)
    #expect(throws: Refusal.self) { try RecipientsField.parse([field(257)]) }
  }

  @Test func `questions are numbers within their ranges`() throws {
    let query = try Query("after=7&limit=0&x=y&wait=61")
    #expect(try query.number("after", 0...9, standard: 1) == 7)
    #expect(try query.number("other", 0...9, standard: 1) == 1)
    #expect(throws: Refusal.self) { try query.number("limit", 1...500, standard: 100) }
    #expect(throws: Refusal.self) { try query.number("wait", 0...60, standard: 0) }
  }

  @Test(arguments: ["after=-1", "after=+1", "after=1.0", "after=", "after", "after=99999999999999999999", "after=%31"])
  func `what is no number is refused`(_ text: String) throws {
    let query = try Query(text)
    #expect(throws: Refusal.self) { try query.number("after", 0...Int64.max, standard: 0) }
  }

  @Test func `a question may not be put twice`() {
    #expect(throws: Refusal.self) { try Query("after=1&after=2") }
  }

  @Test func `paths name what there is`() throws {
    let id = try #require(Identifier(Self.one))
    #expect(Route(path: "/health") == .health)
    #expect(Route(path: "/v1/groups") == .groups)
    #expect(Route(path: "/v1/groups/\(Self.one)") == .group(id))
    #expect(Route(path: "/v1/groups/\(Self.one)/shares/x") == .share(id, "x"))
    #expect(Route(path: "/v1/groups/\(Self.one)/users/x/key") == .userKey(id, "x"))
    #expect(Route(path: "/v1/groups/x/shares") == .noGroup)
  }

  @Test(arguments: [
    "", "/", "/v1", "/v2/groups", "/v1/groups/", "/v1//groups", "/v1/groups/\(one)/", "/v1/groups/\(one)/other",
    "/v1/groups/\(one)/users/x/other", "/v1/groups/\(one)/shares/x/y/z", "/health/", "//health", "x/health",
    "/" + String(repeating: "a", count: 300),
  ])
  func `other paths name nothing`(_ path: String) {
    let route = Route(path: path)
    #expect(route == nil || route == .noGroup && path == "/v1/groups/")
  }

  @Test func `a key comes back from its text`() throws {
    let group = try Identifier.fresh()
    let key = try ServerKey(drawing: .access)
    let text = try key.text().withUnsafeBytes { Array("Bearer ".utf8) + Array($0) }
    let parsed = try text.withUnsafeBytes { bytes -> Digest? in
      guard let parsed = try ServerKey.parse(authorization: bytes) else { return nil }
      return try parsed.digest(group: group, user: nil)
    }
    let digest = try key.digest(group: group, user: nil)
    #expect(parsed == digest)
  }

  @Test func `a key's hash is bound to group and user`() throws {
    let key = try ServerKey(drawing: .access)
    let one = try #require(Identifier(Self.one))
    let two = try #require(Identifier(Self.two))
    let digests = [
      try key.digest(group: one, user: one), try key.digest(group: one, user: two),
      try key.digest(group: two, user: one),
      try key.digest(group: one, user: nil),
    ]
    #expect(Set(digests).count == 4)
  }

  @Test(arguments: [
    "", "Bearer", "Bearer ", "Basic vga_" + String(repeating: "0", count: 64), "Bearer vga_",
    "Bearer vga_" + String(repeating: "0", count: 63), "Bearer vga_" + String(repeating: "0", count: 65),
    "Bearer vgx_" + String(repeating: "0", count: 64), "Bearer vga_" + String(repeating: "A", count: 64),
    "Bearer  vga_" + String(repeating: "0", count: 63), "Bearer vga_" + String(repeating: "g", count: 64),
    "vga_" + String(repeating: "0", count: 64),
  ])
  func `other authorizations are no key`(_ text: String) throws {
    let isKey = try Array(text.utf8).withUnsafeBytes { bytes in
      try ServerKey.parse(authorization: bytes) == nil ? false : true
    }
    #expect(!isKey)
  }

  @Test func `the scheme may be written in any case`() throws {
    let text = "bEaReR vgm_" + String(repeating: "0", count: 64)
    let isKey = try Array(text.utf8).withUnsafeBytes { bytes in
      try ServerKey.parse(authorization: bytes) == nil ? false : true
    }
    #expect(isKey)
  }

  @Test func `a proxy is trusted by its whole address`() {
    #expect(ExactAddress(text: "2001:db8::1") != ExactAddress(text: "2001:db8::2"))
    #expect(ExactAddress(text: "192.0.2.1") == ExactAddress(text: "::ffff:192.0.2.1"))
  }

  @Test func `seats are found among any number`() {
    let seats = Seats([9, 300, 4, 70_000, 9])
    #expect((0...400).filter { seats.contains($0) } == [4, 9, 300])
    #expect(seats.contains(70_000) && !Seats([]).contains(0))
  }

  @Test func `addresses count alike however they are written, and IPv6 by its network`() throws {
    #expect(ClientAddress(text: "192.0.2.1") == ClientAddress(text: "::ffff:192.0.2.1"))
    #expect(ClientAddress(text: "192.0.2.1") != ClientAddress(text: "192.0.2.2"))
    #expect(ClientAddress(text: "2001:db8::1") == ClientAddress(text: "2001:db8::2"))
    #expect(ClientAddress(text: "2001:db8::1") != ClientAddress(text: "2001:db8:0:1::1"))
    #expect(ClientAddress(text: "unknown") == nil)
  }
}
