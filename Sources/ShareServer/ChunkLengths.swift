/// Follows requests as far as it takes to find the lengths of their chunks. What isn't HTTP is left to the parser,
/// which comes next and refuses it.
struct ChunkLengths {
  /// Most bytes of a chunk: far more than any body has. The parser counts in 64 bits, and would wait for as many.
  static let limit: UInt64 = 0x7fff_ffff
  /// Bytes of a line that are looked at.
  private static let lineLimit = 512

  private enum Stage {
    case line(isTrailer: Bool)
    case length
    case lengthEnd
    case bytes(ofChunk: Bool)
    case chunkEnd
    /// This isn't HTTP, or isn't understood.
    case lost
  }

  private var stage = Stage.line(isTrailer: false)
  private var line: [UInt8] = []
  private var isCut = false
  private var hasHead = false
  private var isChunked = false
  /// Bytes that are left, or the length of a chunk as far as it has come.
  private var count: UInt64 = 0

  /// Takes what comes next. False if a chunk is too long.
  mutating func follow(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var rest = bytes[...]
    while let byte = rest.first {
      switch stage {
      case .lost: return true
      case .bytes(let ofChunk):
        let taken = min(count, UInt64(rest.count))
        rest = rest.dropFirst(Int(taken))
        count -= taken
        if count == 0 { stage = ofChunk ? .chunkEnd : .line(isTrailer: false) }
        continue
      case .line(let isTrailer):
        if byte == UInt8(ascii: "\n") { endLine(isTrailer) } else { append(byte) }
      case .length:
        if let digit = Character(UnicodeScalar(byte)).hexDigitValue {
          // The limit is far below what doesn't fit.
          count = count * 16 + UInt64(digit)
          guard count <= Self.limit else { return false }
        } else {
          stage = .lengthEnd
          continue
        }
      case .lengthEnd:
        if byte == UInt8(ascii: "\n") { stage = count > 0 ? .bytes(ofChunk: true) : .line(isTrailer: true) }
      case .chunkEnd:
        if byte == UInt8(ascii: "\n") { beginLength() }
      }
      rest = rest.dropFirst()
    }
    return true
  }

  /// Blanks count for nothing but where a line begins: one of blanks alone isn't empty.
  private mutating func append(_ byte: UInt8) {
    guard byte != UInt8(ascii: " ") && byte != UInt8(ascii: "\t") || line.isEmpty else { return }
    if line.count < Self.lineLimit { line.append(byte) } else { isCut = true }
  }

  private mutating func beginLength() {
    count = 0
    stage = .length
  }

  private mutating func endLine(_ isTrailer: Bool) {
    let text = String(decoding: line, as: UTF8.self).lowercased()
    line.removeAll(keepingCapacity: true)
    defer { isCut = false }
    guard text.isEmpty || text == "\r" else {
      if !isTrailer { note(text) }
      return
    }
    // Empty lines before a request count for nothing.
    guard hasHead || isTrailer else { return }
    let hasChunks = isChunked && !isTrailer
    (hasHead, isChunked) = (false, false)
    if hasChunks {
      beginLength()
    } else {
      stage = count > 0 && !isTrailer ? .bytes(ofChunk: false) : .line(isTrailer: false)
    }
  }

  private mutating func note(_ text: String) {
    if !hasHead { (hasHead, count) = (true, 0) }
    guard let colon = text.firstIndex(of: ":") else { return }
    let value = text[text.index(after: colon)...].filter { $0 != " " && $0 != "\t" && $0 != "\r" && $0 != "\r\n" }
    switch text[..<colon] {
    // What follows may be meant.
    case "transfer-encoding": isChunked = isChunked || isCut || value.contains("chunked")
    case "content-length": if let length = UInt64(value) { count = length } else { stage = .lost }
    default: break
    }
  }
}
