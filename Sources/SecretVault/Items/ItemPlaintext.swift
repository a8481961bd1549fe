import SealedPayload
import ShamirKit
import Sodium
import VaultProtocol

final class ItemPlaintext {
  let header: PayloadHeader
  let body: any PlaintextSource
  let password: SharePassword?

  /// A stream is read to its end.
  init(_ request: ItemRequest, stagingFolder: String) throws {
    password = request.password
    switch request.source {
    case .file(let path):
      body = try FileSource(path: path)
      header = try Self.fileHeader(VaultCore.fileName(of: path), request.mediaType)
    case .descriptor(let descriptor, let name):
      body = try SpooledSource(
        descriptor: descriptor, name: name.isEmpty ? "standard input" : name, stagingFolder: stagingFolder)
      header = try Self.fileHeader(name, request.mediaType)
    case .memory(let content):
      let parts = try content.take()
      header = parts.header
      body = MemorySource(parts.body)
    case .recovered: throw VaultError(.usage, "what was recovered is shared again, not made an item")
    }
  }

  init(header: consuming PayloadHeader, body: any PlaintextSource, password: SharePassword?) {
    self.header = header
    self.body = body
    self.password = password
  }

  private static func fileHeader(_ name: String, _ mediaType: String) throws -> PayloadHeader {
    do {
      return try PayloadHeader(kind: .file, fileName: Array(name.utf8).span.bytes, mediaType: mediaType)
    } catch {
      throw VaultError(.usage, "the file's name or media type can't stand in an item: \(error)")
    }
  }

  /// What a list shows of it.
  var label: ItemLabel {
    password == nil ? ItemLabel(header, byteCount: body.byteCount, hasPassword: false) : ItemLabel(locked: ())
  }
}

/// What an item is encrypted to.
enum ItemKeySource: ~Copyable {
  case key(SecretBytes)
  case publicHalf([UInt8])
}

/// Encrypts items as streams, in constant memory.
struct ItemSealing {
  static let batchByteCount = 1 << 20

  let keyID: SecretID
  let padding: PayloadPadding
  let description: String

  /// Encrypts under a fresh item id and hands header and ciphertext to `sink` in order.
  func run(
    _ plaintext: ItemPlaintext, to keys: borrowing ItemKeySource, progress: (UInt64, UInt64) -> Void = { _, _ in },
    sink: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> ItemHeader {
    let (header, streamKey) = try begin(plaintext, keys)
    var sealer = try sealer(plaintext, streamKey)
    let front: [UInt8]
    do { front = try header.encoded() } catch { throw VaultError(.other, "the item's header can't be written") }
    try front.span.bytes.withUnsafeBytes { try sink($0) }
    let total = header.ciphertextByteCount
    var done: UInt64 = 0
    var batch = [UInt8](repeating: 0, count: Int(min(UInt64(Self.batchByteCount), total)))
    while done < total {
      if Task.isCancelled { throw VaultError(.interrupted, "encrypting was interrupted") }
      let count = try next(&sealer, &batch, plaintext.body)
      guard count > 0 else { throw VaultError(.other, "the encrypted item is shorter than planned") }
      try batch.span.bytes.withUnsafeBytes { try sink(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
      done += UInt64(count)
      progress(done, total)
    }
    // The source must end exactly here; the sealer checks it when it is asked for more.
    guard try next(&sealer, &batch, plaintext.body) == 0 else {
      throw VaultError(.other, "the encrypted item is longer than planned")
    }
    return header
  }

  private func begin(
    _ plaintext: ItemPlaintext, _ keys: borrowing ItemKeySource
  ) throws -> (ItemHeader, StreamKey) {
    do {
      let count = try PayloadSealer.ciphertextByteCount(
        header: plaintext.header, bodyByteCount: plaintext.body.byteCount, hasPassword: plaintext.password != nil,
        padding: padding)
      let id = try Randomness.bytes(ItemHeader.idByteCount)
      switch keys {
      case .key(let key):
        let header = try ItemHeader(
          mode: .shared, padding: padding, keyID: keyID, id: id, ciphertextByteCount: count,
          description: description)
        return (header, StreamKey(try ItemKeys.streamKey(of: header, key: key)))
      case .publicHalf(let half):
        let ephemeral = try SecretBytes(random: X25519.keyByteCount)
        let header = try ItemHeader(
          mode: .sealed(ephemeral: try X25519.publicKey(of: ephemeral)), padding: padding, keyID: keyID, id: id,
          ciphertextByteCount: count, description: description)
        return (
          header, StreamKey(try ItemKeys.streamKey(of: header, ephemeralSecret: ephemeral, publicHalf: half))
        )
      }
    } catch PayloadError.tooLarge, PayloadError.headerTooLarge {
      throw VaultError(.usage, "this is too large for an item")
    } catch {
      throw VaultError(known: error)
        ?? VaultError(.usage, "this can't be made an item: \(error)", hint: "public words have at most 1024 bytes")
    }
  }

  /// A tuple can't have a `SecretBytes`.
  private final class StreamKey {
    private var key: SecretBytes?
    init(_ key: consuming SecretBytes) { self.key = consume key }
    func take() throws -> SecretBytes {
      guard let key = key.take() else { throw VaultError(.other, "a key was used already") }
      return key
    }
  }

  private func sealer(_ plaintext: ItemPlaintext, _ streamKey: StreamKey) throws -> PayloadSealer {
    do {
      let layer = try plaintext.password?.layer()
      return try PayloadSealer(
        key: streamKey.take(), header: plaintext.header, bodyByteCount: plaintext.body.byteCount, password: layer,
        padding: padding)
    } catch {
      throw VaultError(known: error) ?? VaultError(.other, "encrypting can't begin: \(error)")
    }
  }

  private func next(
    _ sealer: inout PayloadSealer, _ batch: inout [UInt8], _ body: any PlaintextSource
  ) throws -> Int {
    do {
      return try batch.withUnsafeMutableBytes { buffer in try sealer.next(into: buffer) { try body.read(into: $0) } }
    } catch PayloadError.sourceTooShort, PayloadError.sourceTooLong {
      throw VaultError(
        .inputOutput, "the file changed while it was read", hint: "encrypt it again once nobody writes to it")
    } catch {
      throw VaultError(known: error) ?? VaultError(.other, "encrypting failed: \(error)")
    }
  }
}
