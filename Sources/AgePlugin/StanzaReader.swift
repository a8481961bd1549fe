/// Stanzas out of the bytes of a pipe, however these are cut.
package struct StanzaReader: Sendable {
  /// Bytes of a line. The longest of a native recipient has some 1500.
  package static let lineLimit = 16_384
  /// Bytes of a body.
  package static let bodyLimit = 16_384

  private var waiting: [UInt8] = []
  /// In `waiting`, of what wasn't looked at yet.
  private var position = 0
  /// Of the stanza whose body is being read.
  private var words: [String]?
  private var body: [UInt8] = []

  package init() {}

  package mutating func append(_ bytes: some Collection<UInt8>) {
    waiting.removeFirst(position)
    position = 0
    waiting += bytes
  }

  /// The next whole stanza; nil until more has come.
  package mutating func next() throws(AgeError) -> AgeStanza? {
    while let line = try nextLine() {
      guard let words else {
        self.words = try Self.words(of: line)
        continue
      }
      guard line.count <= AgeStanza.columns, let bytes = AgeStanza.bytes(base64: line) else {
        throw .malformed("a line of base64")
      }
      guard body.count + bytes.count <= Self.bodyLimit else { throw .tooMuch("a stanza") }
      body += bytes
      guard line.count < AgeStanza.columns else { continue }
      defer {
        self.words = nil
        body = []
      }
      return AgeStanza(words.first ?? "", Array(words.dropFirst()), body: body)
    }
    return nil
  }

  private mutating func nextLine() throws(AgeError) -> ArraySlice<UInt8>? {
    let rest = waiting[position...]
    let end = rest.firstIndex(of: newline)
    guard (end ?? rest.endIndex) - position <= Self.lineLimit else { throw .tooMuch("a line") }
    guard let end else { return nil }
    position = end + 1
    return rest[..<end]
  }

  /// One or more, each of visible ASCII characters.
  private static func words(of line: ArraySlice<UInt8>) throws(AgeError) -> [String] {
    let parts = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    guard parts.count > 1, parts[0].elementsEqual("->".utf8) else { throw .malformed("the first line of a stanza") }
    let words = parts.dropFirst()
    guard words.allSatisfy({ !$0.isEmpty && $0.allSatisfy { 33...126 ~= $0 } }) else {
      throw .malformed("the first line of a stanza")
    }
    return words.map { String(decoding: $0, as: UTF8.self) }
  }
}
