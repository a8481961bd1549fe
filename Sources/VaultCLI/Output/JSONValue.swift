/// A JSON document whose keys keep the order in which they were written, so that output is stable byte by byte.
enum JSONValue: Hashable, Sendable {
  case null
  case bool(Bool)
  case integer(Int64)
  case decimal(Double)
  case string(String)
  case array([JSONValue])
  case object([Member])

  struct Member: Hashable, Sendable {
    let key: String
    let value: JSONValue
  }

  init(_ text: String?) { self = text.map { .string($0) } ?? .null }
  init(_ number: Int?) { self = number.map { .integer(Int64($0)) } ?? .null }
  init(_ texts: [String]) { self = .array(texts.map { .string($0) }) }
  /// A count of bytes; beyond Int64 there are no files.
  init(_ number: UInt64) { self = .integer(Int64(clamping: number)) }

  /// The document on one line. Everything that a terminal could act on is escaped, which changes nothing for a parser.
  var text: String {
    var result = ""
    write(to: &result)
    return result
  }

  /// An object with one more key, at its end.
  func adding(_ key: String, _ value: JSONValue) -> JSONValue {
    guard case .object(let members) = self else { return self }
    return .object(members + [Member(key: key, value: value)])
  }

  private func write(to output: inout String) {
    switch self {
    case .null: output += "null"
    case .bool(let value): output += value ? "true" : "false"
    case .integer(let value): output += String(value)
    case .decimal(let value): output += value.isFinite ? Measures.decimal(value, digits: 3) : "null"
    case .string(let value): Self.write(value, to: &output)
    case .array(let values):
      output += "["
      for (position, value) in values.enumerated() {
        if position > 0 { output += "," }
        value.write(to: &output)
      }
      output += "]"
    case .object(let members):
      output += "{"
      for (position, member) in members.enumerated() {
        if position > 0 { output += "," }
        Self.write(member.key, to: &output)
        output += ":"
        member.value.write(to: &output)
      }
      output += "}"
    }
  }

  private static func write(_ text: String, to output: inout String) {
    output += "\""
    var previous: Unicode.Scalar?
    var scalars = text.unicodeScalars.makeIterator()
    var upcoming = scalars.next()
    while let scalar = upcoming {
      upcoming = scalars.next()
      let isHarmless = Printable.isHarmless(scalar, after: previous, before: upcoming)
      previous = isHarmless ? scalar : nil
      switch scalar {
      case "\"": output += "\\\""
      case "\\": output += "\\\\"
      case "\n": output += "\\n"
      case "\r": output += "\\r"
      case "\t": output += "\\t"
      default:
        if isHarmless {
          output.unicodeScalars.append(scalar)
        } else {
          for unit in UTF16.encode(scalar) ?? .init() { output += "\\u" + padded(unit) }
        }
      }
    }
    output += "\""
  }

  /// Four hexadecimal digits.
  static func padded(_ unit: UInt16) -> String {
    let digits = String(unit, radix: 16)
    return String(repeating: "0", count: 4 - digits.count) + digits
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  init(stringLiteral value: String) { self = .string(value) }
  init(booleanLiteral value: Bool) { self = .bool(value) }
  init(integerLiteral value: Int64) { self = .integer(value) }
  init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(elements.map { Member(key: $0.0, value: $0.1) })
  }
}
