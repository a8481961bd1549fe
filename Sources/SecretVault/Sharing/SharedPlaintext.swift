import SealedPayload
import ShamirKit
import Sodium
import WireCodec

final class SharedPlaintext {
  let body: any PlaintextSource
  private let header: PayloadHeader
  private let password: SharePassword?
  private let makeExtensions: SecretContent.HeaderExtensions?

  /// A stream is read to its end.
  init(_ request: ShareRequest, stagingFolder: String) throws {
    password = request.password
    switch request.source {
    case .file(let path):
      body = try FileSource(path: path)
      header = try Self.fileHeader(VaultCore.fileName(of: path))
      makeExtensions = nil
    case .descriptor(let descriptor, let name):
      body = try SpooledSource(descriptor: descriptor, name: name, stagingFolder: stagingFolder)
      header = try Self.fileHeader(name)
      makeExtensions = nil
    case .recovered(let spool):
      let parts = try spool.take()
      makeExtensions = nil
      header = parts.header
      body = parts.body
    case .memory(let content):
      let parts = try content.take()
      makeExtensions = parts.extensions
      header = parts.header
      body = MemorySource(parts.body)
    }
  }

  private static func fileHeader(_ name: String) throws -> PayloadHeader {
    do { return try PayloadHeader(kind: .file, fileName: Array(name.utf8).span.bytes) } catch {
      throw VaultError(.usage, "the file's name is too long")
    }
  }

  var kind: PayloadKind { header.kind }

  var ciphertextByteCount: UInt64 {
    get throws(PayloadError) {
      try PayloadSealer.ciphertextByteCount(
        header: header, bodyByteCount: body.byteCount, hasPassword: password != nil)
    }
  }

  /// With a password this takes scrypt's time and memory, and consumes the password.
  func sealer(under key: consuming SecretBytes) throws -> PayloadSealer {
    let layer = try password?.layer()
    return try PayloadSealer(key: key, header: header, bodyByteCount: body.byteCount, password: layer)
  }

  /// Of the public header of the secret with this id.
  func extensions(_ id: SecretID) throws -> Extensions {
    guard let makeExtensions, let memory = body as? MemorySource else { return Extensions() }
    return try makeExtensions(id, memory.bytes)
  }
}

/// Bytes in secret memory.
final class MemorySource: PlaintextSource {
  let bytes: SecretBytes
  private var position = 0

  init(_ bytes: consuming SecretBytes) { self.bytes = bytes }

  var byteCount: UInt64 { UInt64(bytes.count) }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    let count = min(buffer.count, bytes.count - position)
    guard count > 0 else { return 0 }
    let start = position
    bytes.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + count])) }
    position += count
    return count
  }
}
