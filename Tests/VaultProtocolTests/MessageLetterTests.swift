import PeerAuth
import Sodium
import Testing
import WireCodec

@testable import VaultProtocol

private let createdAt: Int64 = 1_700_000_000_001
private let expiresAt = Parcel.expiry(createdAt: createdAt, lifetime: Parcel.hour)

func held(_ text: String) throws -> HeldSecret { try held(Array(text.utf8)) }

@Suite("A letter with a message")
struct MessageLetterTests {
  private let sender: Identity
  private let recipient: Identity
  private let seed: ParcelSeed

  init() throws {
    sender = try .generate()
    recipient = try .generate()
    seed = try .fresh()
  }

  private func sealed(_ content: MessageContent) throws -> Parcel {
    try MessageLetter.seal(
      seed: seed, createdAt: createdAt, expiresAt: expiresAt, content: content, from: sender, to: recipient.keys)
  }

  private func opened(_ parcel: Parcel) throws(ProtocolError) -> OpenedParcel {
    try ParcelLetter.openAny(parcel, with: recipient) { $0 == sender.keys.digest ? sender.keys : nil }
  }

  private func text(_ words: String) throws -> MessageText {
    try MessageText(message: Randomness.bytes(16), address: "ann@example.org", text: held(words))
  }

  /// A letter of kind 3 with this body, signed by its sender.
  private func letter(_ body: [UInt8], _ change: (inout LetterParts) throws -> Void = { _ in }) throws -> Parcel {
    var parts = LetterParts(
      seed: seed.bytes, createdAt: UInt64(createdAt), expiresAt: UInt64(expiresAt), sender: sender.keys.digest.bytes,
      recipient: recipient.keys.digest.bytes, kind: 3, inReplyTo: [UInt8](repeating: 0, count: 16),
      replyKey: [UInt8](repeating: 0, count: 32), frames: [])
    parts.rawBody = body
    try change(&parts)
    let plaintext = try secret(parts.plaintext(signature: parts.signature(of: sender)))
    return try ParcelLetter.seal(plaintext, id: seed.parcelID(), expiresAt: expiresAt, to: recipient.keys)
  }

  private func refusal(_ parcel: Parcel) -> ProtocolError? {
    protocolError { () throws(ProtocolError) in _ = try opened(parcel) }
  }

  @Test("arrives as it was sent")
  func arrives() throws {
    let sent = try text("Grüße")
    let parcel = try sealed(.text(sent))
    let arrived = try Parcel.decode(parcel.encoded(), limit: Parcel.byteLimit)
    guard case .message(let letter) = try opened(arrived), case .text(let text) = letter.content else {
      Issue.record("no text")
      return
    }
    #expect(try letter.id == seed.parcelID() && parcel.id == letter.id)
    #expect(letter.seed == seed && letter.createdAt == createdAt && letter.expiresAt == expiresAt)
    #expect(letter.sender == sender.keys.digest && letter.recipient == recipient.keys.digest)
    #expect(text.message == sent.message && text.address == "ann@example.org")
    #expect(exposed(text.text) == Array("Grüße".utf8))
    #expect(parcel.sealed.count == 1024)
  }

  @Test("is written as the documents have it")
  func encoding() throws {
    let sent = try text("Hello")
    let body =
      [1, 1] + sent.message + bigEndian(UInt16(15)) + Array("ann@example.org".utf8)
      + bigEndian(UInt32(5)) + Array("Hello".utf8)
    let encoded = try MessageContent.text(sent).encoded()
    #expect(exposed(encoded) == body)
    guard case .message(let letter) = try opened(letter(body)), case .text(let text) = letter.content else {
      Issue.record("no text")
      return
    }
    #expect(exposed(text.text) == Array("Hello".utf8))
  }

  @Test("is no request and no answer, and neither is a message")
  func kinds() throws {
    let message = try sealed(.text(text("a")))
    let error = protocolError { () throws(ProtocolError) in
      _ = try ParcelLetter.open(message, with: recipient) { _ in sender.keys }
    }
    #expect(error == .foreignParcel("kind"))
    let request = try ParcelLetter.seal(
      seed: seed, createdAt: createdAt, expiresAt: expiresAt, kind: .request,
      replyKey: AgreementKeyPair.generate().publicKey, frames: [ParcelFrame(Ping(request: 1))], from: sender,
      to: recipient.keys)
    guard case .letter(let letter) = try opened(request) else {
      Issue.record("a message")
      return
    }
    #expect(letter.kind == .request)
  }

  @Test("answers nothing and asks for nothing")
  func noReply() throws {
    let body = exposed(try MessageContent.text(text("a")).encoded())
    #expect(refusal(try letter(body)) == nil)
    let reply = refusal(try letter(body) { $0.inReplyTo[0] = 1 })
    #expect(reply == .malformed(.invalidValue(field: "letter in reply to")))
    let key = refusal(try letter(body) { $0.replyKey = try AgreementKeyPair.generate().publicKey })
    #expect(key == .malformed(.invalidValue(field: "letter reply key")))
  }

  @Test("isn't looked into before its signature holds")
  func signature() throws {
    let stranger = try Identity.generate()
    var parts = LetterParts(
      seed: seed.bytes, createdAt: UInt64(createdAt), expiresAt: UInt64(expiresAt), sender: sender.keys.digest.bytes,
      recipient: recipient.keys.digest.bytes, kind: 3, inReplyTo: [UInt8](repeating: 0, count: 16),
      replyKey: [UInt8](repeating: 0, count: 32), frames: [])
    // This would be refused for its version.
    parts.rawBody = [2]
    let plaintext = try secret(parts.plaintext(signature: parts.signature(of: stranger)))
    let parcel = try ParcelLetter.seal(plaintext, id: seed.parcelID(), expiresAt: expiresAt, to: recipient.keys)
    #expect(refusal(parcel) == .foreignParcel("signature"))
  }

  @Test("has a body of at most 1 MiB, by its length alone")
  func bodyLimit() throws {
    let limit = ProtocolError.malformed(.limitExceeded(field: "letter", limit: 1 << 20))
    #expect(refusal(try letter([UInt8](repeating: 1, count: 1 << 20 + 1))) == limit)
    #expect(refusal(try letter([UInt8](repeating: 9, count: 1 << 20))) != limit)
  }

  @Test("with the longest part of a file takes a box of 1 MiB")
  func longestPart() throws {
    let file = try MessagePart.File(
      kind: .photo, name: String(repeating: "n", count: 255), mediaType: String(repeating: "m", count: 127),
      byteCount: UInt64(MessagePart.byteLimit), digest: randomDigest())
    let part = try MessagePart(
      message: Randomness.bytes(16), address: String(repeating: "a", count: 512), file: file,
      caption: held(String(repeating: "c", count: 4096)), number: 0,
      bytes: held([UInt8](repeating: 7, count: MessagePart.byteLimit)))
    #expect(try sealed(.part(part)).sealed.count == 1 << 20)
  }
}
