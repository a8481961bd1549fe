import CHiredis
import CHiredisShims
import Glibc
import Sodium

/// A part of a command: bytes, which never become a part of a format or of a script.
enum RedisArgument {
  case bytes([UInt8])
  /// Bytes that stay where they are. Valid as long as the command is being sent.
  case memory(UnsafeRawBufferPointer)

  static func text(_ text: String) -> RedisArgument { .bytes(Array(text.utf8)) }
  static func number(_ number: Int64) -> RedisArgument { .text(String(number)) }
  static func id(_ id: Identifier) -> RedisArgument { .bytes(id.bytes) }

  fileprivate var count: Int {
    switch self {
    case .bytes(let bytes): bytes.count
    case .memory(let memory): memory.count
    }
  }
}

extension RedisArgument: ExpressibleByStringLiteral {
  init(stringLiteral text: String) { self = .text(text) }
}

struct RedisScript: Sendable {
  let source: String
}

/// A connection to Redis. It blocks, so it lives on a thread made for that, and isn't shared.
final class RedisConnection {
  /// Milliseconds, as is the next.
  static let connectTime: Int32 = 1000
  static let replyTime: Int32 = 3000

  private let context: UnsafeMutablePointer<redisContext>
  private var loaded: [String: [UInt8]] = [:]

  /// Connects to an address or, if that is nil, to a socket of this machine.
  init(_ address: RedisPlace.Address?, socket: String? = nil) throws(RedisFault) {
    var reason = [CChar](repeating: 0, count: 160)
    let context = vault_redis_connect(
      address?.host, Int32(address?.port ?? 0), socket, Self.connectTime, &reason, reason.count)
    guard let context else {
      let words = String(decoding: reason.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      throw .unreachable("\(address?.description ?? socket ?? "nobody"): \(words)")
    }
    self.context = context
  }

  deinit { vault_redis_end(context) }

  func send(_ arguments: [RedisArgument]) throws(RedisFault) {
    // What is no secret stands in one piece of memory, so that pointers to all of it are valid together.
    var plain: [UInt8] = []
    for case .bytes(let bytes) in arguments { plain += bytes }
    // An argument of no bytes still needs an address.
    plain.append(0)
    let result = plain.withUnsafeBytes { plain in
      var pointers: [UnsafePointer<CChar>?] = []
      var offset = 0
      for argument in arguments {
        switch argument {
        case .bytes(let bytes):
          pointers.append(plain.baseAddress.map { ($0 + offset).assumingMemoryBound(to: CChar.self) })
          offset += bytes.count
        case .memory(let memory): pointers.append(memory.baseAddress?.assumingMemoryBound(to: CChar.self))
        }
      }
      let lengths = arguments.map(\.count)
      return vault_redis_send(context, Int32(arguments.count), &pointers, lengths, Self.replyTime)
    }
    try Self.check(result)
  }

  /// The next reply, also an error.
  func receive(within milliseconds: Int32 = replyTime) throws(RedisFault) -> RedisReply {
    var reply: UnsafeMutablePointer<redisReply>?
    try Self.check(vault_redis_receive(context, milliseconds, &reply))
    guard let reply else { throw .garbled }
    return RedisReply(reply)
  }

  private static func check(_ result: vault_redis_result) throws(RedisFault) {
    switch result {
    case VAULT_REDIS_DONE: return
    case VAULT_REDIS_LATE: throw .late
    case VAULT_REDIS_ENDED, VAULT_REDIS_MEMORY: throw .ended
    default: throw .garbled
    }
  }

  @discardableResult
  func call(_ arguments: [RedisArgument], within milliseconds: Int32 = replyTime) throws(RedisFault) -> RedisReply {
    try send(arguments)
    let reply = try receive(within: milliseconds)
    if let error = reply.value.error { throw .answered(error) }
    return reply
  }

  /// Runs a script, which Redis is sent only if it doesn't have it.
  func run(_ script: RedisScript, _ arguments: [RedisArgument]) throws(RedisFault) -> RedisReply {
    for _ in 0..<2 {
      let name: [UInt8]
      if let known = loaded[script.source] {
        name = known
      } else {
        name = try call(["SCRIPT", "LOAD", .text(script.source)]).value.bytes
        loaded[script.source] = name
      }
      do throws(RedisFault) {
        return try call(["EVALSHA", .bytes(name), "0"] + arguments)
      } catch .answered(let words) where words.hasPrefix("NOSCRIPT") {
        // Somebody flushed the scripts, or Redis was started anew.
        loaded = [:]
      }
    }
    throw .answered("NOSCRIPT, although it was loaded")
  }

  /// Returns when so many replicas have everything that was written here, or refuses.
  func awaitReplicas(_ count: Int, within milliseconds: Int32) throws(RedisFault) {
    guard count > 0 else { return }
    let reply = try call(
      ["WAIT", .number(Int64(count)), .number(Int64(milliseconds))], within: milliseconds + Self.replyTime)
    let found = Int(try reply.value.integer)
    guard found >= count else { throw .replicas(found, needed: count) }
  }

  func authenticate(user: String?, _ password: borrowing SecretBytes) throws(RedisFault) {
    try password.withUnsafeBytes { (bytes) throws(RedisFault) in
      _ = try call((user.map { ["AUTH", .text($0)] } ?? ["AUTH"]) + [.memory(bytes)])
    }
  }

  /// Overwrites what was received. For connections over which keys come.
  func wipe() { vault_redis_wipe(context) }

  /// A setting of the server, or nil if it can't be asked for.
  func setting(_ name: String) -> String? {
    guard let reply = try? call(["CONFIG", "GET", .text(name)]), let count = try? reply.value.count, count == 2 else {
      return nil
    }
    return try? reply.value[1].text
  }
}
