import MemoryScan
import PeerAuth
import Sodium
import Testing

@testable import VaultProtocol

/// What is left in memory of messages that were sealed and opened, outside of `SecretBytes`.
@Suite("The memory of messages")
struct MessageMemoryTests {
  /// Characters in an order that occurs nowhere else.
  private func words(_ count: Int) throws -> HeldSecret {
    var text = try SecretBytes(random: count)
    text.withUnsafeMutableBytes { bytes in
      for place in bytes.indices { bytes[place] = 0x21 + bytes[place] % 90 }
    }
    return HeldSecret(text)
  }

  private func add(_ name: String, _ secret: borrowing SecretBytes, to needles: inout Needles) {
    secret.withUnsafeBytes { needles.add(name, $0) }
  }

  private func areSame(_ one: HeldSecret, _ other: HeldSecret) -> Bool { one.bytes.matches(other.bytes) }

  /// Seals a content, takes it apart and puts it together again, as its way does, and opens it.
  private func sent(_ content: MessageContent, _ sender: Identity, _ recipient: Identity) throws -> MessageContent? {
    let parcel = try MessageLetter.seal(
      seed: .fresh(), createdAt: 1, expiresAt: Parcel.hour, content: content, from: sender, to: recipient.keys)
    let arrived = try Parcel.decode(parcel.encoded(), limit: Parcel.byteLimit)
    guard case .message(let letter) = try ParcelLetter.openAny(arrived, with: recipient, sender: { _ in sender.keys })
    else { return nil }
    return letter.content
  }

  @Test("holds neither texts nor captions nor files outside of what is locked and wiped")
  func memory() throws {
    var needles = Needles()
    let (sender, recipient) = (try Identity.generate(), try Identity.generate())
    let (text, caption) = (try words(5000), try words(600))
    let picture = HeldSecret(try SecretBytes(random: 200_000))
    add("the text", text.bytes, to: &needles)
    add("the caption", caption.bytes, to: &needles)
    add("the picture", picture.bytes, to: &needles)
    let name = try Randomness.bytes(16)
    let file = try MessagePart.File(
      kind: .photo, name: "cat.jpg", mediaType: "image/jpeg", byteCount: UInt64(picture.count), digest: randomDigest())
    let part = try MessagePart(
      message: name, address: nil, file: file, caption: caption, number: 0, bytes: picture)
    guard
      case .text(let read) = try sent(
        .text(MessageText(message: name, address: nil, text: text)), sender, recipient),
      case .part(let seen) = try sent(.part(part), sender, recipient), let shown = seen.caption
    else {
      Issue.record("no message has come")
      return
    }
    let isWhole = [areSame(read.text, text), areSame(shown, caption), areSame(seen.bytes, picture)]
    #expect(isWhole == [true, true, true])
    let found = try ProcessMemory.own.search(for: needles)
    #expect(found.summary == [], "\(found.findings)")
    // It has looked somewhere, and left out no more than what SecretBytes takes.
    #expect(found.scanned > 1 << 20 && found.leftOut > 0)
  }
}
