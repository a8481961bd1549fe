import VaultStore

/// Where the bytes of an encrypted item, or a part of one's contents, go: a file that gets its name only at the end, or a
/// descriptor.
struct ItemSink: ~Copyable {
  private var file: OutputFile?
  private let descriptor: Int32?
  private var armor: ItemArmorWriter?
  let path: String?
  private(set) var byteCount: UInt64 = 0

  /// `name` is what a file in a folder is called. With `armored` the bytes are written as text for mail.
  init(_ destination: RecoveryDestination, name: String, armored: Bool, _ notes: OutputNotes) throws {
    let place = destination.place(of: name)
    let opened = try Self.open(place?.path, place?.overwrites ?? false, notes)
    file = opened
    path = place?.path
    if case .descriptor(let number) = destination { descriptor = number } else { descriptor = nil }
    armor = armored ? ItemArmorWriter() : nil
  }

  private static func open(_ path: String?, _ overwrites: Bool, _ notes: OutputNotes) throws -> OutputFile? {
    guard let path else { return nil }
    do { return try OutputFile(path: path, overwrites: overwrites, notes: notes) } catch {
      throw RecoveredOutput.error(error, path)
    }
  }

  mutating func write(_ bytes: UnsafeRawBufferPointer) throws {
    byteCount += UInt64(bytes.count)
    if let text = armor?.append(bytes) { try put(text) } else { try put(bytes) }
  }

  /// Makes a file durable and gives it its name.
  mutating func commit() throws {
    if let text = armor?.finish() { try put(text) }
    guard let file = file.take() else { return }
    do { try file.commit() } catch { throw RecoveredOutput.error(error, path ?? "") }
  }

  private mutating func put(_ bytes: [UInt8]) throws {
    try bytes.withUnsafeBytes { try put($0) }
  }

  private mutating func put(_ bytes: UnsafeRawBufferPointer) throws {
    if let descriptor { return try writeOutput(bytes, to: descriptor) }
    guard var open = file.take() else { return }
    do { try open.write(RawSpan(_unsafeBytes: bytes)) } catch {
      throw RecoveredOutput.error(error, path ?? "")
    }
    file = consume open
  }
}
