import Sodium
import WireCodec

/// Words that are encoded as their places, from 1 on: a new case goes behind the others.
protocol NumberedWord: CaseIterable, Equatable where AllCases == [Self] {}

extension NumberedWord {
  var code: UInt8 { UInt8(clamping: (Self.allCases.firstIndex(of: self) ?? 0) + 1) }
}

extension StoreError {
  /// Why the file at `path` can't be read.
  init(reading path: String, _ error: WireError) {
    if case .unsupported = error { self = .tooNew(path) } else { self = .damaged(path) }
  }
}

extension Writer {
  /// A flag and, if it is set, the text with its 16-bit length.
  @_lifetime(self: copy self)
  mutating func optionalText(_ text: String?) throws(WireError) {
    try flag(text != nil)
    if let text { try text16(text) }
  }

  /// A flag and, if it is set, bytes of a length that is known.
  @_lifetime(self: copy self)
  mutating func optionalBytes(_ bytes: [UInt8]?) throws(WireError) {
    try flag(bytes != nil)
    if let bytes { try self.bytes(bytes) }
  }

  @_lifetime(self: copy self)
  mutating func optionalDigest(_ digest: Digest?) throws(WireError) { try optionalBytes(digest?.bytes) }

  @_lifetime(self: copy self)
  mutating func signed(_ number: Int64) throws(WireError) { try u64(UInt64(bitPattern: number)) }
}

extension Reader {
  mutating func digest(_ field: StaticString) throws(WireError) -> Digest {
    let bytes = try bytes(Digest.byteCount, field)
    do throws(SodiumError) { return try Digest(bytes) } catch { throw .invalidValue(field: field.description) }
  }

  mutating func optionalDigest(_ field: StaticString) throws(WireError) -> Digest? {
    try flag(field) ? digest(field) : nil
  }

  mutating func optionalBytes(_ count: Int, _ field: StaticString) throws(WireError) -> [UInt8]? {
    try flag(field) ? bytes(count, field) : nil
  }

  mutating func optionalText(limit: Int, _ field: StaticString) throws(WireError) -> String? {
    try flag(field) ? text16(limit: limit, field) : nil
  }

  mutating func signed(_ field: StaticString) throws(WireError) -> Int64 { Int64(bitPattern: try u64(field)) }

  mutating func word<Word: NumberedWord>(_ field: StaticString) throws(WireError) -> Word {
    let code = try u8(field)
    guard let word = Word.allCases.first(where: { $0.code == code }) else {
      throw .invalidValue(field: field.description)
    }
    return word
  }

  /// What a file of this kind begins with.
  mutating func head(_ magic: [UInt8], version known: UInt8) throws(WireError) {
    _ = try head(magic, versions: known...known)
  }

  /// The same where there are several; returns which it is.
  mutating func head(_ magic: [UInt8], versions known: ClosedRange<UInt8>) throws(WireError) -> UInt8 {
    guard try bytes(magic.count, "magic") == magic else { throw .invalidValue(field: "magic") }
    let version = try u8("version")
    guard known.contains(version) else { throw .unsupported(field: "version", value: UInt64(version)) }
    return version
  }

  /// What a later version has added, if it may be ignored.
  mutating func extensions() throws(WireError) -> Extensions {
    let extensions = try Extensions(from: &self)
    try extensions.require()
    return extensions
  }
}
