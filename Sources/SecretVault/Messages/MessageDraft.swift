import PeerAuth
import Sodium
import VaultProtocol
import VaultStore

/// A message that is being stored, with the parcels in which it goes.
struct MessageDraft {
  let room: Messages
  let peer: PeerRecord
  let keys: CardKeys
  let id: [UInt8]
  let ways: ParcelRecord.Ways
  let lifetime: Int64
  let address: String?
  let now: Int64

  /// Returns its number; nil if the id is taken.
  func store(_ text: HeldSecret) throws -> Int64? {
    let content: MessageText
    do { content = try MessageText(message: id, address: address, text: text) } catch {
      guard case .malformed = error else { throw VaultError(.other, "the text can't be taken: \(error)") }
      throw VaultError(
        .usage, "a message is 1 to \(MessageText.byteLimit) bytes of UTF-8 without NUL",
        hint: "send what is longer, or no text, with --file")
    }
    let parcel = try parcel(.text(content))
    let record = record(.text, byteCount: text.count, expiresAt: parcel.record.expiresAt)
    return try room.database.addMessage(record, parts: [0: text], parcels: [parcel])
  }

  /// The file is read twice: its digest stands in each part.
  func store(_ file: MessageFile) throws -> Int64? {
    guard file.byteCount <= MessagePart.File.byteLimit else {
      throw VaultError(
        .usage, "\(file.name) is larger than \(MessagePart.File.byteLimit >> 20) MiB",
        hint: "share it with `vault share`")
    }
    let facts = try facts(file, digest: digest(file))
    var parcels: [(record: ParcelRecord, content: [UInt8]?)] = []
    var hash = try Self.hash()
    for number in 0..<facts.partCount {
      let bytes = try Self.read(file, facts, number)
      hash.add(bytes.bytes)
      let part: MessagePart
      do {
        part = try MessagePart(
          message: id, address: address, file: facts, caption: number == 0 ? file.caption : nil,
          number: UInt16(number), bytes: bytes)
      } catch {
        guard case .malformed = error else { throw VaultError(.other, "\(file.name) can't be sent: \(error)") }
        throw VaultError(.usage, "a caption is 1 to \(MessagePart.captionByteLimit) bytes of UTF-8 without NUL")
      }
      parcels.append(try parcel(.part(part)))
    }
    guard hash.digest() == facts.digest else {
      throw VaultError(.inputOutput, "\(file.name) changed while it was read")
    }
    let record = record(
      file.isPhoto ? .photo : .file, name: facts.name, mediaType: facts.mediaType.isEmpty ? nil : facts.mediaType,
      byteCount: Int(clamping: facts.byteCount), partCount: facts.partCount, digest: facts.digest,
      expiresAt: parcels.map(\.record.expiresAt).max() ?? 0)
    // Only the caption is kept: the file is the user's.
    return try room.database.addMessage(record, parts: file.caption.map { [-1: $0] } ?? [:], parcels: parcels)
  }

  private func record(
    _ kind: MessageRecord.Kind, name: String? = nil, mediaType: String? = nil, byteCount: Int, partCount: Int = 1,
    digest: Digest? = nil, expiresAt: Int64
  ) -> MessageRecord {
    MessageRecord(
      id: id, peer: peer.digest, direction: .sent, kind: kind, isSealed: true, name: name, mediaType: mediaType,
      byteCount: Int64(byteCount), partCount: partCount, digest: digest, sentAt: now, storedAt: now, ways: ways,
      expiresAt: expiresAt, state: .waiting)
  }

  private func parcel(_ content: MessageContent) throws -> (record: ParcelRecord, content: [UInt8]?) {
    let envelope = try MessageEnvelope(lifetime: lifetime, at: now)
    let bytes = try envelope.seal(content, from: room.identity, to: keys)
    return (envelope.record(.message, to: peer.digest, message: id, ways: ways), bytes)
  }

  private func facts(_ file: MessageFile, digest: Digest) throws -> MessagePart.File {
    do {
      return try MessagePart.File(
        kind: file.isPhoto ? .photo : .file, name: file.name, mediaType: file.mediaType, byteCount: file.byteCount,
        digest: digest)
    } catch {
      throw VaultError(
        .usage, "a file that is sent has a name of 1 to 255 bytes without control characters", hint: "rename it")
    }
  }

  private func digest(_ file: MessageFile) throws -> Digest {
    // Only its length counts until the digest is known.
    let empty: Digest
    do { empty = try Digest([UInt8](repeating: 0, count: Digest.byteCount)) } catch {
      throw VaultError(.other, "hashing failed")
    }
    let facts = try facts(file, digest: empty)
    var hash = try Self.hash()
    for number in 0..<facts.partCount {
      hash.add(try Self.read(file, facts, number).bytes)
    }
    return hash.digest()
  }

  private static func read(_ file: MessageFile, _ facts: MessagePart.File, _ number: Int) throws -> HeldSecret {
    let bytes = try file.read(UInt64(number * MessagePart.byteLimit), facts.partByteCount(number))
    guard bytes.count == facts.partByteCount(number) else {
      throw VaultError(.inputOutput, "\(file.name) changed while it was read")
    }
    return bytes
  }

  private static func hash() throws -> FileDigest {
    do { return try FileDigest() } catch { throw VaultError(.other, "hashing failed") }
  }
}
