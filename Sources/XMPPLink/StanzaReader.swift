import CStrophe
import Glibc

/// Reads libstrophe's tree of a stanza into a value, step by step and within limits.
struct StanzaReader {
  private var remaining: XMLElement.Limits

  static func read(
    _ stanza: OpaquePointer, limits: XMLElement.Limits = .usual
  ) throws(XMLElement.Fault) -> XMLElement {
    var reader = StanzaReader(remaining: limits)
    return try reader.element(stanza, namespace: "", depth: limits.depth)
  }

  /// The recursion is as deep as the limit at most.
  private mutating func element(
    _ stanza: OpaquePointer, namespace: String, depth: Int
  ) throws(XMLElement.Fault) -> XMLElement {
    guard depth > 0 else { throw .tooDeep }
    guard remaining.elements > 0 else { throw .tooManyElements }
    remaining.elements -= 1
    guard let name = xmpp_stanza_get_name(stanza) else { throw .noName }
    let own = try xmpp_stanza_get_ns(stanza).map { (text) throws(XMLElement.Fault) in try string(text) } ?? namespace
    var element = XMLElement(name: try string(name), namespace: own)
    element.attributes = try attributes(stanza)
    var text: [UInt8] = []
    var next = xmpp_stanza_get_children(stanza)
    while let child = next {
      if xmpp_stanza_is_text(child) != 0 {
        if let piece = xmpp_stanza_get_text_ptr(child) { text += try bytes(piece) }
      } else {
        element.children.append(try self.element(child, namespace: own, depth: depth - 1))
      }
      next = xmpp_stanza_get_next(child)
    }
    element.text = String(decoding: text, as: UTF8.self)
    return element
  }

  private mutating func attributes(_ stanza: OpaquePointer) throws(XMLElement.Fault) -> [String: String] {
    let count = Int(xmpp_stanza_get_attribute_count(stanza))
    guard count > 0 else { return [:] }
    guard count <= remaining.attributes else { throw .tooManyAttributes }
    var pointers = [UnsafePointer<CChar>?](repeating: nil, count: count * 2)
    let filled = Int(xmpp_stanza_get_attributes(stanza, &pointers, Int32(count * 2)))
    var attributes: [String: String] = [:]
    for place in stride(from: 0, to: min(filled, count * 2) & ~1, by: 2) {
      guard let name = pointers[place], let value = pointers[place + 1] else { continue }
      attributes[try string(name)] = try string(value)
    }
    return attributes
  }

  private mutating func string(_ text: UnsafePointer<CChar>) throws(XMLElement.Fault) -> String {
    String(decoding: try bytes(text), as: UTF8.self)
  }

  private mutating func bytes(_ text: UnsafePointer<CChar>) throws(XMLElement.Fault) -> UnsafeRawBufferPointer {
    let count = strlen(text)
    guard count <= remaining.bytes else { throw .tooLong }
    remaining.bytes -= count
    return UnsafeRawBufferPointer(start: text, count: count)
  }
}
