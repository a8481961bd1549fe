import ShamirKit
import Sodium
import Testing
import WireCodec

@testable import VaultProtocol

@Suite("Messages")
struct MessageTests {
  private func decoded<Message: PeerMessage>(_ type: Message.Type, _ bytes: [UInt8]) -> Result<Message, WireError> {
    do throws(WireError) {
      return .success(try Message.decode(bytes, limit: type.type.byteLimit))
    } catch {
      return .failure(error)
    }
  }

  private func expectRoundTrip<Message: PeerMessage>(_ message: Message) throws {
    let bytes = try message.encoded()
    #expect(bytes.count == message.encodedByteCount)
    #expect(decoded(Message.self, bytes) == .success(message))
  }

  private func expectRefusedWhenCut<Message: PeerMessage>(_ message: Message) throws {
    let bytes = try message.encoded()
    for count in bytes.indices {
      guard case .failure(.truncated) = decoded(Message.self, Array(bytes[..<count])) else {
        Issue.record("\(Message.self) of \(count) bytes")
        continue
      }
    }
  }

  private func expectTrailingRefused<Message: PeerMessage>(_ message: Message) throws {
    #expect(decoded(Message.self, try message.encoded() + [0]) == .failure(.trailingBytes(count: 1)))
  }

  private func expectWithinLimit<Message: PeerMessage>(_ message: Message) throws {
    let bytes = try message.encoded()
    #expect(bytes.count <= Message.type.byteLimit, "\(Message.self)")
    #expect(decoded(Message.self, bytes) == .success(message))
    #expect(MessageType.byteLimit(Message.type.rawValue, isPeer: true) == Message.type.byteLimit)
  }

  private func expectOversizeRefused<Message: PeerMessage>(_ message: Message) {
    let limit = Message.type.byteLimit
    let error = decoded(Message.self, [UInt8](repeating: 0, count: limit + 1))
    #expect(error == .failure(.limitExceeded(field: "\(Message.self)", limit: limit)))
  }

  @Test("of every type say after a trip what they said before", arguments: 0..<20)
  func roundTrips(_: Int) throws {
    for message in try sampleMessages() { try expectRoundTrip(message) }
  }

  @Test("cut at any length are refused")
  func cut() throws {
    for message in try sampleMessages() { try expectRefusedWhenCut(message) }
  }

  @Test("with a byte behind their end are refused")
  func trailing() throws {
    for message in try sampleMessages() { try expectTrailingRefused(message) }
  }

  @Test("at their largest fit into the limit of their type")
  func limits() throws {
    for message in try largestMessages() { try expectWithinLimit(message) }
    #expect(Release.byteCount <= Release.type.byteLimit)
  }

  @Test("over the limit of their type are refused on their length")
  func oversize() throws {
    for message in try sampleMessages() { expectOversizeRefused(message) }
  }

  @Test("of every type but the releases are among the samples of these tests")
  func complete() throws {
    let numbers = Set(try sampleMessages().map { type(of: $0).type })
    #expect(numbers == Set(MessageType.allCases).subtracting([.release, .sealedRelease]))
  }

  @Test("have the numbers and limits of the protocol's table")
  func table() {
    let limits = MessageType.allCases.map { [Int($0.rawValue), $0.byteLimit] }
    let table = [
      [0x0001, 8192], [0x0002, 512], [0x0003, 512], [0x0004, 512], [0x0101, 512], [0x0102, 512], [0x0103, 66560],
      [0x0104, 512], [0x0105, 65600], [0x0106, 512], [0x0107, 512], [0x0201, 512], [0x0202, 512], [0x0203, 512],
      [0x0204, 512], [0x0205, 512], [0x0206, 512], [0x0207, 69632], [0x0208, 512],
      [0x0301, 512], [0x0302, 512], [0x0303, 512], [0x0304, 512], [0x0305, 512], [0x0306, 1024], [0x0307, 69632],
      [0x0308, 512],
      [0x0401, 66048], [0x0402, 131136], [0x0403, 66048], [0x0404, 512],
      [0x0411, 524352], [0x0412, 512], [0x0413, 4096], [0x0414, 524352],
      [0x0501, 8256], [0x0502, 512], [0x0503, 65600], [0x0504, 512], [0x0505, 512], [0x1001, 512],
      [0x2001, 8256], [0x2002, 524352], [0x3001, 32768], [0x3002, 36864], [0x3003, 32768], [0x3004, 65600],
      [0x3005, 512], [0x3006, 12288], [0x3007, 512],
    ]
    #expect(limits == table)
    for number in UInt16.min...(.max) where MessageType(rawValue: number) == nil {
      #expect(MessageType.byteLimit(number, isPeer: true) == nil)
    }
  }

  @Test("with an inner length over its limit are refused on the number alone")
  func innerLengths() {
    let request = [UInt8](repeating: 0, count: 8)
    #expect(
      decoded(Offer.self, request + [1] + bigEndian(UInt16(513)))
        == .failure(.limitExceeded(field: "sealed share", limit: 512)))
    #expect(
      decoded(Offer.self, request + [1, 0, 0] + bigEndian(UInt32(65537)))
        == .failure(.limitExceeded(field: "header", limit: 65536)))
    for length in [UInt32(65537), .max] {
      #expect(
        decoded(Piece.self, request + request + bigEndian(length))
          == .failure(.limitExceeded(field: "piece bytes", limit: 65536)))
      #expect(
        decoded(ProvenPiece.self, request + request + [0] + bigEndian(length))
          == .failure(.limitExceeded(field: "piece bytes", limit: 65536)))
    }
    #expect(
      decoded(ProvenPiece.self, request + request + [65]) == .failure(.limitExceeded(field: "path length", limit: 64)))
    #expect(decoded(Hello.self, [0, 1, 0, 65]) == .failure(.limitExceeded(field: "services", limit: 64)))
  }

  @Test("A drill's answer may say whom the holder could reach, and nothing else behind the proof")
  func reach() throws {
    let possession = Possession(request: 1, index: 2, salt: try Randomness.bytes(32), proof: try sampleProof())
    let plain = try DrillAnswer(possession: possession).encoded()
    for (known, dialable) in [(0, 0), (3, 2), (255, 255)] {
      let answer = DrillAnswer(possession: possession, reach: HolderReach(known: known, dialable: dialable))
      try expectRoundTrip(answer)
      #expect(try answer.encoded() == plain + [UInt8(known), UInt8(dialable)])
    }
    #expect(HolderReach(known: 2, dialable: 5) == HolderReach(known: 2, dialable: 2))
    #expect(
      decoded(DrillAnswer.self, plain + [1, 2]) == .failure(.invalidValue(field: "holders with an address")))
    #expect(decoded(DrillAnswer.self, plain + [1]) == .failure(.trailingBytes(count: 1)))
    #expect(decoded(DrillAnswer.self, plain + [1, 1, 0]) == .failure(.trailingBytes(count: 3)))
  }

  @Test("Cards and what is known of them stand in the order of shares, each share once, 254 at most")
  func cardOrder() {
    let request = [UInt8](repeating: 0, count: 8)
    func cards(_ indices: [UInt8]) -> [UInt8] { request + [UInt8(indices.count)] + indices.flatMap { [$0, 0, 0] } }
    func known(_ indices: [UInt8]) -> [UInt8] {
      request + [UInt8(indices.count)] + indices.flatMap { [$0] + [UInt8](repeating: 0, count: 8) }
    }
    for wrong in [[0], [2, 1], [3, 3]] as [[UInt8]] {
      #expect(decoded(Cards.self, cards(wrong)) == .failure(.invalidValue(field: "card index")))
      #expect(decoded(CardRequest.self, known(wrong)) == .failure(.invalidValue(field: "card index")))
    }
    #expect(decoded(Cards.self, request + [255]) == .failure(.limitExceeded(field: "card count", limit: 254)))
    #expect(decoded(CardRequest.self, request + [255]) == .failure(.limitExceeded(field: "card count", limit: 254)))
    #expect(
      decoded(Cards.self, request + [1, 1] + bigEndian(UInt16(2049)))
        == .failure(.limitExceeded(field: "card", limit: 2048)))
  }

  @Test("A request for pieces of a drill names 1 to 64, ascending, each once")
  func drillPieceNumbers() {
    let request = [UInt8](repeating: 0, count: 8)
    func numbers(_ numbers: [UInt64]) -> [UInt8] {
      request + bigEndian(UInt16(numbers.count)) + numbers.flatMap { bigEndian($0) }
    }
    #expect(decoded(DrillPieceRequest.self, numbers([])) == .failure(.limitExceeded(field: "piece count", limit: 64)))
    #expect(
      decoded(DrillPieceRequest.self, request + bigEndian(UInt16(65)))
        == .failure(.limitExceeded(field: "piece count", limit: 64)))
    for wrong in [[1, 1], [2, 1], [1, 3, 2]] as [[UInt64]] {
      #expect(decoded(DrillPieceRequest.self, numbers(wrong)) == .failure(.invalidValue(field: "piece")), "\(wrong)")
      #expect(throws: WireError.self) { try DrillPieceRequest(request: 0, numbers: wrong).encoded() }
    }
  }

  @Test("A greeting may name unknown services and later versions, but version 0 and even extensions are refused")
  func greetings() throws {
    let later = try decoded(Hello.self, [0, 9, 0, 2, 0, 2, 0x77, 0x77, 0, 5, 0, 3, 0, 1, 5]).get()
    #expect(later.version == 9)
    #expect(later.services == [2, 0x7777])
    #expect(later.offers(.release))
    #expect(!later.offers(.deposit))
    #expect(later.extensions[3] == [5])
    #expect(
      decoded(Hello.self, [0, 0, 0, 0, 0, 0]) == .failure(.unsupported(field: "protocol version", value: 0)))
    #expect(
      decoded(Hello.self, [0, 1, 0, 0, 0, 4, 0, 2, 0, 0]) == .failure(.unsupported(field: "extension", value: 2)))
  }

  @Test("An offer's answer has one form: a piece only with 1, a reason only with 3, seconds only with 4")
  func verdicts() {
    let request = [UInt8](repeating: 0, count: 8)
    let reasons: [UInt8] = [0, 1, 15, 16, 255]
    for verdict in UInt8.min...(.max) {
      for piece in [UInt64(0), 1, .max] {
        for reason in reasons {
          let expected: OfferVerdict? =
            switch (verdict, piece, reason) {
            case (1, _, 0): .wants(from: piece)
            case (2, 0, 0): .complete
            case (3, 0, 1...): .refused(RefusalReason(rawValue: reason) ?? .internalFailure)
            case (4, 1...OfferAnswer.askingLimit, 0): .asking(seconds: piece)
            default: nil
            }
          let answer = decoded(OfferAnswer.self, request + [verdict] + bigEndian(piece) + [reason])
          #expect((try? answer.get())?.verdict == expected, "\(verdict) \(piece) \(reason)")
        }
      }
    }
  }

  @Test("Reasons of later versions count as an internal failure; 0 is none, and no reason for a refusal")
  func reasons() throws {
    let request = [UInt8](repeating: 0, count: 8)
    for number in UInt8.min...(.max) {
      let expected = number == 0 ? nil : RefusalReason(rawValue: number) ?? .internalFailure
      #expect(try decoded(ProbeAnswer.self, request + [number]).get().refusal == expected)
      #expect(try decoded(DepositResult.self, request + [number]).get().refusal == expected)
      #expect(try decoded(PiecesEnd.self, request + [number]).get().refusal == expected)
      // One reason alone has something behind it.
      let refusal = decoded(Refusal.self, request + [number] + (number == 17 ? bigEndian(UInt64(9)) : []))
      guard let expected else {
        #expect(refusal == .failure(.invalidValue(field: "reason")))
        continue
      }
      #expect(try refusal.get().reason == expected)
    }
    #expect(Set(RefusalReason.allCases.map(\.rawValue)) == Set(1...22))
  }

  @Test("A request for no pieces, or for more than 4096, is refused")
  func pieceCounts() throws {
    let start = [UInt8](repeating: 0, count: 16)
    for count in [UInt32(0), 4097, .max] {
      #expect(
        decoded(PieceRequest.self, start + bigEndian(count)) == .failure(.limitExceeded(field: "count", limit: 4096)))
    }
    for count in [UInt32(1), 4096] {
      #expect(try decoded(PieceRequest.self, start + bigEndian(count)).get().count == count)
    }
  }

  @Test("A proof whose point is the identity, or whose scalars are not below the order, doesn't parse")
  func malformedProofs() throws {
    let bytes = try Possession(request: 1, index: 1, salt: Randomness.bytes(32), proof: sampleProof()).encoded()
    var identity = bytes
    identity.replaceSubrange(41..<73, with: [UInt8](repeating: 0, count: 32))
    #expect(decoded(Possession.self, identity) == .failure(.invalidValue(field: "proof commitment")))
    for last in [104, 136] {
      var large = bytes
      large[last] = 0xff
      #expect(decoded(Possession.self, large) == .failure(.invalidValue(field: "proof response")))
    }
  }

  @Test("A nonce or salt of another length is never written")
  func fixedLengths() throws {
    for count in [0, 31, 33] {
      let bytes = [UInt8](repeating: 1, count: count)
      #expect(throws: WireError.self) { _ = try Challenge(request: 1, nonce: bytes).encoded() }
      #expect(throws: WireError.self) {
        _ = try Possession(request: 1, index: 1, salt: bytes, proof: sampleProof()).encoded()
      }
    }
  }

  @Test("The time of a delayed release stands in that refusal alone, and is from 1 to its limit")
  func delayedReleases() throws {
    let request = [UInt8](repeating: 0, count: 8)
    for reason in RefusalReason.allCases where reason != .releaseDelayed {
      #expect(try Refusal(request: 0, reason: reason, wait: 5).encoded() == request + [reason.rawValue])
    }
    for wait in [UInt64(1), Refusal.waitLimit] {
      #expect(
        decoded(Refusal.self, request + [17] + bigEndian(wait))
          == .success(Refusal(request: 0, reason: .releaseDelayed, wait: wait)))
    }
    for wait in [0, Refusal.waitLimit + 1, .max] {
      #expect(decoded(Refusal.self, request + [17] + bigEndian(wait)) == .failure(.invalidValue(field: "wait")))
    }
    #expect(Refusal(request: 0, reason: .releaseDelayed, wait: 0).wait == 1)
    #expect(Refusal(request: 0, reason: .releaseDelayed, wait: .max).wait == Refusal.waitLimit)
  }

  @Test("An answer that a user is asked has from 1 to 3600 seconds, and no reason")
  func askedUsers() {
    let request = [UInt8](repeating: 0, count: 8)
    for seconds in [UInt64(1), 3600] {
      let bytes = request + [4] + bigEndian(seconds) + [0]
      #expect(decoded(OfferAnswer.self, bytes) == .success(OfferAnswer(request: 0, verdict: .asking(seconds: seconds))))
    }
    for bytes in [bigEndian(UInt64(0)) + [0], bigEndian(UInt64(3601)) + [0], bigEndian(UInt64(60)) + [11]] {
      #expect(decoded(OfferAnswer.self, request + [4] + bytes) == .failure(.invalidValue(field: "verdict")))
    }
  }
}
