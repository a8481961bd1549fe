import Grouper
import Sodium

extension ServerJSON {
  /// What a small answer says: an object of numbers, short words and keys, and objects of numbers within it.
  struct Members {
    /// Bytes of a word.
    static let wordLimit = 64
    /// Members that are kept.
    static let countLimit = 64

    private(set) var numbers: [String: Int64] = [:]
    private(set) var texts: [String: String] = [:]
    private var keys: [String: ServerKey] = [:]

    init(_ bytes: RawSpan) throws(Failure) {
      do {
        var scanner = JSONScanner(bytes)
        try read(&scanner, within: nil)
        try scanner.finish()
      } catch let failure as Failure {
        throw failure
      } catch is SodiumError {
        throw .noMemory
      } catch {
        throw .malformed("it is not the JSON that was expected")
      }
    }

    private mutating func read(_ scanner: inout JSONScanner, within object: String?) throws {
      try scanner.beginObject()
      while let name = try scanner.nextName() {
        guard numbers.count + texts.count + keys.count < Self.countLimit else {
          throw Failure.malformed("it has too many members")
        }
        let path = object.map { "\($0).\(name)" } ?? name
        switch name {
        case "group", "owner", "user", "error": texts[path] = Self.string(try scanner.text(limit: Self.wordLimit))
        case "masterKey", "accessKey":
          keys[path] = try Self.key(try scanner.text(limit: 128), name == "masterKey" ? .master : .access)
        case "quota" where object == nil: try read(&scanner, within: name)
        case "ttl", "users", "shares", "bytes", "newest", "time", "cursor", "expires":
          numbers[path] = try scanner.number()
        default: try scanner.skip()
        }
      }
    }

    func number(_ name: String) throws(Failure) -> UInt64 {
      guard let number = numbers[name].flatMap({ UInt64(exactly: $0) }) else {
        throw .malformed("it doesn't say \(name)")
      }
      return number
    }

    func id<Kind>(_ name: String) throws(Failure) -> Identifier<Kind> {
      guard let id = texts[name].flatMap({ Identifier<Kind>(hexadecimal: $0) }) else {
        throw .malformed("it doesn't say \(name)")
      }
      return id
    }

    func key(_ name: String, _ kind: ServerKey.Kind) throws(Failure) -> ServerKey {
      guard let key = keys[name], key.kind == kind else { throw .malformed("there is no key in it") }
      return key
    }

    /// A word: what isn't a letter, digit or `_` is dropped, because it will be shown.
    static func string(_ bytes: RawSpan) -> String {
      bytes.withUnsafeBytes { bytes in
        String(
          decoding: bytes.filter {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
            default: false
            }
          }, as: UTF8.self)
      }
    }

    /// The bytes of a key's text, which go from secret memory to secret memory.
    private static func key(_ text: RawSpan, _ kind: ServerKey.Kind) throws -> ServerKey {
      let prefix = kind.textPrefix
      guard text.byteCount == prefix.count + 2 * ServerKey.byteCount,
        constantTimeEqual(text.extracting(first: prefix.count), prefix.span.bytes)
      else { throw Failure.malformed("a key has another form") }
      let digits = try HexText.decode(text.extracting(droppingFirst: prefix.count))
      switch consume digits {
      case .some(let bytes): return try ServerKey(bytes, kind)
      case .none: throw Failure.malformed("a key has another form")
      }
    }
  }
}

extension ServerKey.Kind {
  /// What the text of such a key begins with.
  var textPrefix: [UInt8] {
    switch self {
    case .master: Array("vgm_".utf8)
    case .access: Array("vga_".utf8)
    }
  }
}
