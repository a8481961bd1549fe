import PeerAuth
import ShamirKit
import Sodium
import Testing
import WireCodec

@testable import VaultProtocol

@Suite("The messages of a parcel")
struct ParcelFrameTests {
  private func refusal(_ frames: [ParcelFrame]) -> WireError? {
    wireError { () throws(WireError) in _ = try ParcelFrame.body(frames) }
  }

  private func refusal(ofBody body: [UInt8]) -> WireError? {
    wireError { () throws(WireError) in _ = try ParcelFrame.frames(of: body.span.bytes) }
  }

  private func encoded(_ type: UInt16, _ count: UInt32, _ bytes: [UInt8]) -> [UInt8] {
    bigEndian(type) + bigEndian(count) + bytes
  }

  @Test("come out as they went in, whatever their types")
  func roundTrip() throws {
    for _ in 0..<20 {
      let frames = try (1...Int.random(in: 1...9)).map { _ in
        ParcelFrame(type: .random(in: 0x4000...0xffff), bytes: try Randomness.bytes(.random(in: 0...400)))
      }
      let body = try ParcelFrame.body(frames)
      #expect(try ParcelFrame.frames(of: body.span.bytes) == frames)
    }
    for message in try sampleMessages() where !Self.isOfMeetings(type(of: message).type) {
      let frame = ParcelFrame(type: type(of: message).type.rawValue, bytes: try message.encoded())
      let body = try ParcelFrame.body([frame])
      #expect(try ParcelFrame.frames(of: body.span.bytes) == [frame])
    }
  }

  @Test("are at least one and at most 512")
  func count() throws {
    let ping = try ParcelFrame(Ping(request: 1))
    #expect(refusal([]) == .limitExceeded(field: "frames", limit: 512))
    #expect(refusal([ParcelFrame](repeating: ping, count: 512)) == nil)
    #expect(refusal([ParcelFrame](repeating: ping, count: 513)) == .limitExceeded(field: "frames", limit: 512))
    let one = encoded(3, 8, [UInt8](repeating: 0, count: 8))
    #expect(refusal(ofBody: [1]) == .truncated(field: "frame type"))
    #expect(refusal(ofBody: [1] + [[UInt8]](repeating: one, count: 512).joined()) == nil)
    let tooMany = refusal(ofBody: [1] + [[UInt8]](repeating: one, count: 513).joined())
    #expect(tooMany == .limitExceeded(field: "frames", limit: 512))
  }

  @Test("are as long as a session lets them be, and no longer", arguments: MessageType.allCases)
  func length(_ type: MessageType) throws {
    guard type != .release, !Self.isOfMeetings(type) else { return }
    let longest = ParcelFrame(type: type.rawValue, bytes: [UInt8](repeating: 0, count: type.byteLimit))
    let tooLong = ParcelFrame(type: type.rawValue, bytes: longest.bytes + [0])
    #expect(refusal([longest]) == nil)
    #expect(refusal([tooLong]) == .limitExceeded(field: "frame", limit: type.byteLimit))
    // The length alone is enough to refuse it: none of the bytes are there.
    let announced = [1] + encoded(type.rawValue, UInt32(type.byteLimit + 1), [])
    #expect(refusal(ofBody: announced) == .limitExceeded(field: "frame", limit: type.byteLimit))
  }

  @Test("of types of later versions have at most 64 KiB")
  func unknownTypes() throws {
    #expect(refusal([ParcelFrame(type: 0x7777, bytes: [UInt8](repeating: 0, count: 65536))]) == nil)
    let tooLong = [1] + encoded(0x7777, 65537, [])
    #expect(refusal(ofBody: tooLong) == .limitExceeded(field: "frame", limit: 65536))
    let huge = [1] + encoded(0x7777, .max, [])
    #expect(refusal(ofBody: huge) == .limitExceeded(field: "frame", limit: ParcelLetter.bodyLimit))
  }

  private static func isOfMeetings(_ type: MessageType) -> Bool { type.rawValue >> 8 == 0x30 }

  @Test(
    "are no goodbyes, no shares in the clear, and nothing of meetings",
    arguments: [UInt16(0), 0x0204, 0x3000, 0x3001, 0x3007, 0x30ff])
  func types(_ type: UInt16) throws {
    #expect(refusal([ParcelFrame(type: type, bytes: [])]) == .invalidValue(field: "frame type"))
    #expect(refusal(ofBody: [1] + encoded(type, 0, [])) == .invalidValue(field: "frame type"))
  }

  @Test("have at most 6 MiB together")
  func together() throws {
    let reply = ParcelFrame(type: 0x2002, bytes: [UInt8](repeating: 0, count: MessageType.groupReply.byteLimit))
    let most = (ParcelLetter.bodyLimit - 1) / (reply.bytes.count + 6)
    let rest = ParcelLetter.bodyLimit - 1 - most * (reply.bytes.count + 6) - 6
    let filled = [ParcelFrame](repeating: reply, count: most)
    #expect(refusal(filled + [ParcelFrame(type: 0x2002, bytes: [UInt8](repeating: 0, count: rest))]) == nil)
    let over = refusal(filled + [ParcelFrame(type: 0x2002, bytes: [UInt8](repeating: 0, count: rest + 1))])
    #expect(over == .limitExceeded(field: "letter", limit: 6 << 20))
  }

  @Test("end where they say")
  func truncated() throws {
    let whole = [1] + encoded(3, 8, [UInt8](repeating: 0, count: 8))
    #expect(refusal(ofBody: whole) == nil)
    for count in 0..<whole.count {
      guard case .truncated = refusal(ofBody: Array(whole.prefix(count))) else {
        Issue.record("\(count) bytes were not refused as cut short")
        continue
      }
    }
    #expect(refusal(ofBody: whole + [0]) == .truncated(field: "frame type"))
    #expect(refusal(ofBody: [2] + whole.dropFirst()) == .unsupported(field: "letter version", value: 2))
  }
}

@Suite("A share in an answer")
struct SealedReleaseTests {
  private func refusal(_ bytes: [UInt8], _ key: AgreementKeyPair) -> ProtocolError? {
    protocolError { () throws(ProtocolError) in _ = try SealedRelease.open(bytes.span.bytes, with: key) }
  }

  private func sealed(_ dealt: DealtSecret, to key: [UInt8]) throws -> [UInt8] {
    let share = try dealt.dealing.share(1)
    let salt = try secret(dealt.salt(1))
    return try SealedRelease.seal(request: 9, share: share, salt: salt, to: key)
  }

  @Test("comes to whoever has the key that the request brought")
  func opens() throws {
    let dealt = try DealtSecret.random()
    let key = try AgreementKeyPair.generate()
    let sealed = try sealed(dealt, to: key.publicKey)
    #expect(sealed.count == SealedRelease.byteCount)
    #expect(sealed.count <= SealedRelease.type.byteLimit)
    // The key from the store again.
    let kept = try AgreementKeyPair(secret: key.secretCopy())
    let release = try SealedRelease.open(sealed.span.bytes, with: kept)
    let share = exposed(release.share.bytes)
    #expect(release.request == 9)
    #expect(release.share.index == 1)
    #expect(release.salt.withUnsafeBytes { Array($0) } == dealt.salt(1))
    #expect(try share == dealt.shareBytes(1))
  }

  @Test("comes to nobody else")
  func anotherKey() throws {
    let dealt = try DealtSecret.random()
    let sealed = try sealed(dealt, to: AgreementKeyPair.generate().publicKey)
    #expect(refusal(sealed, try .generate()) == .foreignParcel("release"))
  }

  @Test("is refused when it was changed, or has another length")
  func changed() throws {
    let dealt = try DealtSecret.random()
    let key = try AgreementKeyPair.generate()
    let sealed = try sealed(dealt, to: key.publicKey)
    for _ in 0..<20 {
      var changed = sealed
      changed[.random(in: sealed.indices)] ^= UInt8(1) << UInt8.random(in: 0...7)
      #expect(refusal(changed, key) == .foreignParcel("release"))
    }
    #expect(refusal(Array(sealed.dropLast()), key) == .foreignParcel("release length"))
    #expect(refusal(sealed + [0], key) == .foreignParcel("release length"))
    #expect(refusal([], key) == .foreignParcel("release length"))
  }

  @Test("is not sealed to a key that is none")
  func badKey() throws {
    let dealt = try DealtSecret.random()
    for key in [[UInt8](repeating: 0, count: 32), [], [UInt8](repeating: 0xff, count: 32)] {
      let error = protocolError { () throws(ProtocolError) in
        let share: KeyShare
        do { share = try dealt.dealing.share(1) } catch { throw .unexpectedMessage(0) }
        let salt: SecretBytes
        do { salt = try secret(dealt.salt(1)) } catch { throw .unexpectedMessage(0) }
        _ = try SealedRelease.seal(request: 9, share: share, salt: salt, to: key)
      }
      guard case .sodium = error else {
        Issue.record("\(key): \(String(describing: error))")
        continue
      }
    }
  }
}
