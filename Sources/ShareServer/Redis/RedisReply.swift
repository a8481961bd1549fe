import CHiredis
import CHiredisShims
import Sodium

final class RedisReply {
  fileprivate let raw: UnsafeMutablePointer<redisReply>

  init(_ raw: UnsafeMutablePointer<redisReply>) { self.raw = raw }

  deinit { vault_redis_end_reply(raw) }

  var value: RedisValue { RedisValue(raw: raw, reply: self) }
}

struct RedisValue {
  fileprivate let raw: UnsafeMutablePointer<redisReply>
  fileprivate let reply: RedisReply

  private var type: Int32 { raw.pointee.type }

  var isNull: Bool { type == REDIS_REPLY_NIL }

  var integer: Int64 {
    get throws(RedisFault) {
      guard type == REDIS_REPLY_INTEGER else { throw .garbled }
      return raw.pointee.integer
    }
  }

  private var octets: UnsafeRawBufferPointer? {
    guard type == REDIS_REPLY_STRING || type == REDIS_REPLY_STATUS || type == REDIS_REPLY_ERROR,
      let start = raw.pointee.str
    else { return nil }
    return UnsafeRawBufferPointer(start: start, count: raw.pointee.len)
  }

  var bytes: [UInt8] {
    get throws(RedisFault) {
      guard let octets else { throw .garbled }
      return Array(octets)
    }
  }

  var optionalBytes: [UInt8]? { get throws(RedisFault) { isNull ? nil : try bytes } }

  var text: String { get throws(RedisFault) { String(decoding: try bytes, as: UTF8.self) } }

  var identifier: Identifier {
    get throws(RedisFault) {
      guard let identifier = Identifier(bytes: try bytes) else { throw .garbled }
      return identifier
    }
  }

  /// The bytes as a secret; they are nowhere else.
  func secret() throws -> SecretBytes {
    guard let octets else { throw RedisFault.garbled }
    return try SecretBytes(copying: octets.bytes)
  }

  var error: String? {
    guard type == REDIS_REPLY_ERROR, let octets else { return nil }
    return String(decoding: octets.lazy.map { (0x20...0x7e).contains($0) ? $0 : 0x3f }, as: UTF8.self)
  }

  var count: Int {
    get throws(RedisFault) {
      guard type == REDIS_REPLY_ARRAY else { throw .garbled }
      return raw.pointee.elements
    }
  }

  subscript(place: Int) -> RedisValue {
    get throws(RedisFault) {
      guard try place < count, place >= 0, let part = raw.pointee.element[place] else { throw .garbled }
      return RedisValue(raw: part, reply: reply)
    }
  }

  var items: [RedisValue] {
    get throws(RedisFault) {
      try (0..<(try count)).map { (place) throws(RedisFault) in try self[place] }
    }
  }
}
