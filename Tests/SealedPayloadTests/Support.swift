@testable import SealedPayload
import Sodium
import Testing

/// Bytes that are different at every place, the same in every run.
func pattern(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
  var state = seed &* 0x9e37_79b9_7f4a_7c15 | 1
  var words = [UInt64](repeating: 0, count: count / 8 + 1)
  for index in words.indices {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    words[index] = state
  }
  return words.withUnsafeBytes { Array($0.prefix(count)) }
}

func secret(_ bytes: [UInt8]) throws(SodiumError) -> SecretBytes { try SecretBytes(copying: bytes.span.bytes) }
func secret(_ text: String) throws(SodiumError) -> SecretBytes { try secret(Array(text.utf8)) }

/// The key of most tests: 0, 1, 2 … 31.
func testKey() throws(SodiumError) -> SecretBytes { try secret(Array(0..<32)) }

func fileHeader(_ name: String = "note.txt") throws -> PayloadHeader {
  try PayloadHeader(kind: .file, fileName: Array(name.utf8).span.bytes, mediaType: "text/plain")
}

/// A body that comes from an array, `step` bytes at most at a time.
struct ArraySource {
  let bytes: [UInt8]
  var position = 0
  var step = Int.max

  init(_ bytes: [UInt8], step: Int = .max) {
    self.bytes = bytes
    self.step = step
  }

  mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(buffer.count, bytes.count - position, step)
    bytes.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[position..<position + count])) }
    position += count
    return count
  }
}

/// Everything that a sealer gives, through an output buffer of `outputByteCount` bytes.
func drain(
  _ sealer: consuming PayloadSealer, body: [UInt8], outputByteCount: Int = 3 << 20, step: Int = .max
) throws -> [UInt8] {
  var source = ArraySource(body, step: step)
  var output = [UInt8](repeating: 0, count: outputByteCount)
  var ciphertext: [UInt8] = []
  while true {
    let count = try output.withUnsafeMutableBytes { buffer in
      try sealer.next(into: buffer) { source.read(into: $0) }
    }
    if count == 0 { return ciphertext }
    output.withUnsafeBytes { ciphertext += UnsafeRawBufferPointer(rebasing: $0[..<count]) }
  }
}

func seal(
  _ body: [UInt8], password: consuming PasswordLayer? = nil, padding: PayloadPadding = .standard,
  outputByteCount: Int = 3 << 20, step: Int = .max
) throws -> [UInt8] {
  let sealer = try PayloadSealer(
    key: testKey(), header: fileHeader(), bodyByteCount: UInt64(body.count), password: password, padding: padding)
  return try drain(sealer, body: body, outputByteCount: outputByteCount, step: step)
}

/// Appends `ciphertext` in pieces that `cut` chooses; unlocks with `password` when asked.
func open(
  _ ciphertext: [UInt8], key: consuming SecretBytes, announced: Int? = nil, password: String? = nil,
  padding: PayloadPadding = .standard, cut: (Int) -> Int = { $0 }
) throws -> [UInt8] {
  var opener = try PayloadOpener(
    key: key, ciphertextByteCount: UInt64(announced ?? ciphertext.count), padding: padding)
  var body: [UInt8] = []
  try ciphertext.withUnsafeBytes { all in
    var rest = all[...]
    while !rest.isEmpty {
      let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(max(1, cut(rest.count))))
      rest = rest.dropFirst(try opener.append(piece) { body += $0 })
      if opener.needsPassword, let password { try opener.unlock(password: secret(password)) }
    }
  }
  try opener.finishUnsafe { body += $0 }
  return body
}

func open(
  _ ciphertext: [UInt8], announced: Int? = nil, password: String? = nil, padding: PayloadPadding = .standard,
  cut: (Int) -> Int = { $0 }
) throws -> [UInt8] {
  try open(ciphertext, key: testKey(), announced: announced, password: password, padding: padding, cut: cut)
}

/// Seals a padded payload or a whole layer of the test's own making as the outer stream.
func sealRaw(_ plaintext: [UInt8], key: consuming SecretBytes) throws -> [UInt8] {
  var sealer = try ChunkSealer(key: key, plaintextByteCount: UInt64(plaintext.count))
  var source = ArraySource(plaintext)
  var output = [UInt8](repeating: 0, count: Int(sealer.layout.ciphertextByteCount))
  let count = try output.withUnsafeMutableBytes { buffer in
    try sealer.next(into: buffer) { _ = source.read(into: $0) }
  }
  #expect(count == output.count)
  return output
}

/// A padded payload byte by byte: length, header, body, and `padding` or zeros.
func paddedPayload(header: [UInt8], body: [UInt8], length: UInt64? = nil, padding: [UInt8]? = nil) throws -> [UInt8] {
  let content = length ?? UInt64(header.count + body.count)
  var bytes = withUnsafeBytes(of: content.bigEndian) { Array($0) } + header + body
  let padded = Int(try #require(PaddedLength.of(UInt64(bytes.count))))
  bytes += padding ?? [UInt8](repeating: 0, count: padded - bytes.count)
  return bytes
}

/// A minimal header: a note without name, type, fields or extensions.
let noteHeader: [UInt8] = [0, 10, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0]
