/// Secrets to look for in a process's memory, kept so that a search never finds the list itself.
///
/// Every byte is masked as it is taken in, one by one, so that no whole word of a secret passes through the stack of the
/// searching test. What is compared is masked too.
package struct Needles: Sendable {
  /// Bytes that are enough to recognise a piece of a secret: one aligned word of memory.
  static let wordByteCount = 8
  static let mask: UInt8 = 0xA7
  static let wordMask: UInt64 = 0xA7A7_A7A7_A7A7_A7A7

  private(set) var names: [String] = []
  /// Every masked word of every secret, at every offset, and whose it is.
  private(set) var words: [UInt64: Int] = [:]

  /// An empty list.
  package init() {}

  /// Takes a secret of at least 15 bytes: any aligned word of memory then shows it wherever it begins. It should be
  /// random, at least in every eight bytes: text that stands in the program anyway would be found there.
  package mutating func add(_ name: String, _ secret: RawSpan) { secret.withUnsafeBytes { add(name, $0) } }

  /// The same, for a secret that somebody lends.
  package mutating func add(_ name: String, _ secret: UnsafeRawBufferPointer) {
    precondition(secret.count >= 2 * Self.wordByteCount - 1, "\(name) is too short to be looked for")
    let masked = secret.map { $0 ^ Self.mask }
    let number = names.count
    names.append(name)
    for start in 0...(masked.count - Self.wordByteCount) {
      var word: UInt64 = 0
      for place in 0..<Self.wordByteCount { word |= UInt64(masked[start + place]) << UInt64(8 * place) }
      words[word] = number
    }
  }
}
