/// A value in a message, of every type that the specification has (D-Bus Specification, "Type System").
package indirect enum BusValue: Hashable, Sendable {
  case byte(UInt8)
  case flag(Bool)
  case int16(Int16)
  case uint16(UInt16)
  case int32(Int32)
  case number(UInt32)
  case int64(Int64)
  case uint64(UInt64)
  /// The bits of a floating-point number.
  case double(UInt64)
  case text(String)
  case path(String)
  case signature(String)
  /// A place in the list of descriptors that came with the message.
  case descriptor(UInt32)
  case bytes([UInt8])
  /// An array of anything but bytes and pairs, and the signature of what is in it.
  case array(of: String, [BusValue])
  /// A dictionary in the order of its pairs, and the signatures of key and value.
  case dictionary(of: String, [Pair])
  case structure([BusValue])
  case variant(BusValue)

  package struct Pair: Hashable, Sendable {
    package let key: BusValue
    package let value: BusValue

    package init(_ key: BusValue, _ value: BusValue) {
      self.key = key
      self.value = value
    }
  }

  package var type: String {
    switch self {
    case .byte: "y"
    case .flag: "b"
    case .int16: "n"
    case .uint16: "q"
    case .int32: "i"
    case .number: "u"
    case .int64: "x"
    case .uint64: "t"
    case .double: "d"
    case .text: "s"
    case .path: "o"
    case .signature: "g"
    case .descriptor: "h"
    case .bytes: "ay"
    case .array(let type, _): "a" + type
    case .dictionary(let types, _): "a{" + types + "}"
    case .structure(let parts): "(" + parts.map(\.type).joined() + ")"
    case .variant: "v"
    }
  }

  /// A dictionary of properties: texts and values of any type.
  package static func properties(_ values: [(String, BusValue)]) -> BusValue {
    .dictionary(of: "sv", values.map { Pair(.text($0.0), .variant($0.1)) })
  }

  package var inner: BusValue { if case .variant(let value) = self { value.inner } else { self } }

  package var words: String? {
    switch inner {
    case .text(let text), .path(let text): text
    default: nil
    }
  }

  /// The value of an entry of a dictionary whose keys are texts or paths, out of its variant.
  package subscript(key: String) -> BusValue? { pairs?.first { $0.key.words == key }?.value.inner }

  package var pairs: [Pair]? { if case .dictionary(_, let pairs) = inner { pairs } else { nil } }
}

/// The type of a value, taken from a signature within its limits.
indirect enum BusType: Hashable {
  case basic(UInt8)
  case array(BusType)
  case dictionary(BusType, BusType)
  case structure([BusType])
  case variant

  static let signatureLimit = 255
  /// Arrays, structures and variants inside one another. The specification allows 64; what is read here has four.
  static let depthLimit = 16

  static func all(_ signature: String) throws(BusMessage.Fault) -> [BusType] {
    guard signature.utf8.count <= signatureLimit else { throw .tooLong }
    var rest = Array(signature.utf8)[...]
    var types: [BusType] = []
    while !rest.isEmpty { types.append(try next(&rest, depth: 0)) }
    return types
  }

  var text: String {
    switch self {
    case .basic(let code): String(decoding: [code], as: UTF8.self)
    case .array(let type): "a" + type.text
    case .dictionary(let key, let value): "a{" + key.text + value.text + "}"
    case .structure(let parts): "(" + parts.map(\.text).joined() + ")"
    case .variant: "v"
    }
  }

  /// The boundary at which values of this type begin.
  var alignment: Int {
    switch self {
    case .basic(let code):
      switch code {
      case UInt8(ascii: "y"), UInt8(ascii: "g"): 1
      case UInt8(ascii: "n"), UInt8(ascii: "q"): 2
      case UInt8(ascii: "x"), UInt8(ascii: "t"), UInt8(ascii: "d"): 8
      default: 4
      }
    case .array, .dictionary: 4
    case .structure: 8
    case .variant: 1
    }
  }

  private static let basics = Set("ybnqiuxtdsogh".utf8)

  private static func next(_ rest: inout ArraySlice<UInt8>, depth: Int) throws(BusMessage.Fault) -> BusType {
    guard depth <= depthLimit else { throw .tooLong }
    guard let code = rest.popFirst() else { throw .malformed }
    switch code {
    case UInt8(ascii: "v"): return .variant
    case UInt8(ascii: "a"):
      guard rest.first == UInt8(ascii: "{") else { return .array(try next(&rest, depth: depth + 1)) }
      rest.removeFirst()
      guard let keyCode = rest.first, basics.contains(keyCode) else { throw .malformed }
      let key = try next(&rest, depth: depth + 1)
      let value = try next(&rest, depth: depth + 1)
      guard rest.popFirst() == UInt8(ascii: "}") else { throw .malformed }
      return .dictionary(key, value)
    case UInt8(ascii: "("):
      var parts: [BusType] = []
      while rest.first != UInt8(ascii: ")") { parts.append(try next(&rest, depth: depth + 1)) }
      rest.removeFirst()
      guard !parts.isEmpty else { throw .malformed }
      return .structure(parts)
    default:
      guard basics.contains(code) else { throw .malformed }
      return .basic(code)
    }
  }
}
