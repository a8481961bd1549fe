import FoundationEssentials
import Hummingbird
import NIOCore

struct RequestBodies: Sendable {
  let budget: MemoryBudget

  /// Bytes that are reserved for a body before any of it has come. It grows with what comes: who only announces much,
  /// and sends it slowly, takes room from nobody.
  private static let firstBytes = 65_536

  private func collect(
    _ request: Request, limit: Int, for holders: [MemoryBudget.Holder]
  ) async throws -> (buffer: ByteBuffer, share: MemoryBudget.Share) {
    var expected = limit
    if let length = request.headers[.contentLength] {
      guard let count = decimal(length) else { throw Refusal.malformed("the length of the body is no number") }
      guard count <= Int64(limit) else { throw Refusal.tooLarge }
      expected = Int(count)
    }
    var reserved = min(expected, Self.firstBytes)
    let share = try budget.reserve(reserved, for: holders)
    var buffer = ByteBuffer()
    for try await var part in request.body {
      let needed = buffer.readableBytes + part.readableBytes
      guard needed <= limit else { throw Refusal.tooLarge }
      if needed > reserved {
        let next = max(needed, min(2 * reserved, expected))
        try share.grow(next - reserved)
        reserved = next
      }
      buffer.writeBuffer(&part)
    }
    return (buffer, share)
  }

  /// A share, and its memory for as long as somebody holds it.
  func octets(
    _ request: Request, for holders: [MemoryBudget.Holder]
  ) async throws -> (bytes: [UInt8], share: MemoryBudget.Share) {
    try Self.check(request, is: "application/octet-stream")
    let (buffer, share) = try await collect(request, limit: ServerLimits.shareBytes, for: holders)
    guard buffer.readableBytes > 0 else { throw Refusal.malformed("a share has at least one byte") }
    return (Array(buffer: buffer), share)
  }

  /// Seconds to live, from `{"ttl": seconds}`.
  func ttl(_ request: Request) async throws -> Int64 {
    let text = try await json(request)
    guard let order = try? JSONDecoder().decode(GroupOrder.self, from: Data(text)) else {
      throw Refusal.malformed("the body has to be an object with the one member ttl, a number of seconds")
    }
    guard ServerLimits.ttl.contains(order.ttl) else {
      throw Refusal.malformed(
        "ttl has to be from \(ServerLimits.ttl.lowerBound) to \(ServerLimits.ttl.upperBound) seconds")
    }
    return order.ttl
  }

  /// Nothing, or `{}`.
  func nothing(_ request: Request) async throws {
    let text = try await json(request, mayBeMissing: true)
    guard text.isEmpty || (try? JSONDecoder().decode(NoOrder.self, from: Data(text))) != nil else {
      throw Refusal.malformed("the body has to be an empty object")
    }
  }

  private func json(_ request: Request, mayBeMissing: Bool = false) async throws -> [UInt8] {
    if !mayBeMissing || request.headers[.contentType] != nil { try Self.check(request, is: "application/json") }
    let (buffer, share) = try await collect(request, limit: ServerLimits.jsonBytes, for: [])
    defer { withExtendedLifetime(share) {} }
    return Array(buffer: buffer)
  }

  private static func check(_ request: Request, is type: String) throws(Refusal) {
    let found = request.headers[.contentType]?.split(separator: ";", maxSplits: 1).first ?? ""
    guard found.filter({ $0 != " " }).lowercased() == type else { throw .wrongType }
  }

  /// Objects with members that aren't known are refused: whoever sends them means something that would not be done.
  private struct Name: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  private static func members(_ decoder: any Decoder, are names: Set<String>) throws -> KeyedDecodingContainer<Name> {
    let container = try decoder.container(keyedBy: Name.self)
    guard Set(container.allKeys.map(\.stringValue)) == names else { throw Refusal.malformed("unknown members") }
    return container
  }

  struct GroupOrder: Decodable {
    let ttl: Int64

    init(from decoder: any Decoder) throws {
      ttl = try RequestBodies.members(decoder, are: ["ttl"]).decode(Int64.self, forKey: Name(stringValue: "ttl"))
    }
  }

  struct NoOrder: Decodable {
    init(from decoder: any Decoder) throws { _ = try RequestBodies.members(decoder, are: []) }
  }
}
