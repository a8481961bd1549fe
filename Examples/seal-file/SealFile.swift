import Glibc
import SealedPayload
import Sodium
import Support

/// Seals a file under a key, and opens it again: see `Examples/README.md`.
@main
struct SealFile {
  static func main() async {
    await run("seal-file") { arguments in
      do {
        switch (arguments.first, arguments.count) {
        case ("key", 2): try makeKey(arguments[1])
        case ("seal", 4): try seal(arguments[2], to: arguments[3], SecretFile(reading: arguments[1]).secret(of: 32))
        case ("open", 4): try open(arguments[2], in: arguments[3], SecretFile(reading: arguments[1]).secret(of: 32))
        default: throw Failure("say key KEYFILE, seal KEYFILE FILE SEALED, or open KEYFILE SEALED FOLDER")
        }
      } catch PayloadError.damaged, PayloadError.truncated, PayloadError.trailingBytes {
        throw Failure("it isn't what was sealed under this key")
      }
    }
  }

  static func makeKey(_ path: String) throws {
    let key = try SecretBytes(random: 32)
    try SecretFile(creating: path).write(key.bytes)
  }

  /// A key is good for one file: nonces count from zero.
  static func seal(_ path: String, to sealed: String, _ key: consuming SecretBytes) throws {
    let input = try SecretFile(reading: path)
    let output = try SecretFile(creating: sealed)
    let name = Array(path.utf8)
    let header = try PayloadHeader(kind: .file, fileName: name.span.bytes)
    var sealer = try PayloadSealer(key: key, header: header, bodyByteCount: UInt64(input.byteCount()))
    var buffer = try SecretBytes(zeros: 1 << 20)
    var left = sealer.ciphertextByteCount
    while left > 0 {
      let count = try buffer.withUnsafeMutableBytes { memory in
        var span = OutputRawSpan(buffer: memory, initializedCount: 0)
        try sealer.next(into: &span) { try input.read(into: &$0) }
        return span.finalize(for: memory)
      }
      try output.write(buffer.bytes.extracting(first: count))
      left -= UInt64(count)
    }
    print("Sealed \(try input.byteCount()) bytes as \(sealer.ciphertextByteCount).")
  }

  static func open(_ sealed: String, in folder: String, _ key: consuming SecretBytes) throws {
    let input = try SecretFile(reading: sealed)
    var opener = try PayloadOpener(key: key, ciphertextByteCount: UInt64(input.byteCount()))
    // Only the end tells that nothing is missing: until then it has another name.
    let temporary = "\(folder)/.seal-file.\(getpid())"
    let output = try SecretFile(creating: temporary)
    defer { unlink(temporary) }
    var buffer = try SecretBytes(zeros: 1 << 20)
    while true {
      let count = try input.read(into: &buffer)
      if count == 0 { break }
      _ = try opener.append(buffer.bytes.extracting(first: count)) { try output.write($0) }
      if opener.needsPassword { throw Failure("it was sealed with a password, which this example doesn't ask for") }
    }
    try opener.finish { try output.write($0) }
    // Whoever sealed it chose the name: what could lead out of the folder is taken off.
    let name = opener.withHeader { SuggestedName.sanitised($0.fileName) } ?? "recovered"
    guard link(temporary, "\(folder)/\(name)") == 0 else { throw Failure("\(folder)/\(name) is there already") }
    print("Opened \(folder)/\(name).")
  }
}
