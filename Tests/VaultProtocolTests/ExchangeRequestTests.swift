import Sodium
import Testing
import WireCodec

@testable import VaultProtocol

@Suite("What an answerer makes of bytes")
struct ExchangeRequestTests {
  private static let requests: Set<MessageType> = [
    .hello, .ping, .probe, .offer, .piece, .depositEnd, .releaseRequest, .possession, .pieceRequest, .drillRequest,
    .drillProof, .drillPieceRequest, .itemOffer, .itemPiece, .itemEnd, .groupLetter,
    .introduction, .cardRequest, .lifecycleRequest, .lifecycleItem, .lifecycleEnd,
    .courierGreeting, .courierOffers, .courierPiece, .courierTaken, .courierTurn,
  ]

  private func parsed(_ number: UInt16, _ body: [UInt8]) throws(ProtocolError) -> Exchanges.Request {
    try Exchanges.Request(number: number, body: body.span.bytes, isPeer: true)
  }

  /// Whether the bytes are taken. If so, they must be the one encoding of what they say.
  private func isAccepted(_ number: UInt16, _ body: [UInt8]) throws -> Bool {
    do throws(ProtocolError) {
      let request = try parsed(number, body)
      #expect(request.number == number)
      let again = try? request.encodedAgain()
      #expect(again == nil || again == body, "message \(number): \(hexadecimal(body))")
      return again != nil
    } catch {
      guard case .malformed = error else { throw error }
      return false
    }
  }

  @Test("Every request is read as what it is")
  func everyRequest() throws {
    var seen: Set<MessageType> = []
    for message in try sampleMessages() where Self.requests.contains(type(of: message).type) {
      let type = type(of: message).type
      #expect(try isAccepted(type.rawValue, message.encoded()))
      seen.insert(type)
    }
    #expect(seen == Self.requests)
  }

  @Test("Every number without a meaning, and every answer's, is unknown, whatever the body")
  func unknownNumbers() throws {
    let requests = Set(Self.requests.map(\.rawValue))
    let body = try Randomness.bytes(40)
    for number in UInt16.min...(.max) where !requests.contains(number) {
      let request = try parsed(number, body)
      guard case .unknown = request.content, request.number == number else {
        Issue.record("\(number)")
        continue
      }
    }
  }

  @Test("Random bytes never trap, and are the one encoding of what they are read as")
  func randomBytes() throws {
    for type in Self.requests {
      for _ in 0..<500 {
        _ = try isAccepted(type.rawValue, Randomness.bytes(.random(in: 0...150)))
      }
    }
  }

  @Test("Damaged messages never trap, and are the one encoding of what they are read as")
  func damagedMessages() throws {
    var accepted = 0
    for _ in 0..<60 {
      for message in try sampleMessages() {
        var bytes = try message.encoded()
        for _ in 0..<Int.random(in: 1...3) where !bytes.isEmpty {
          let position = Int.random(in: bytes.indices)
          switch Int.random(in: 0..<4) {
          case 0: bytes[position] ^= UInt8(1) << UInt8.random(in: 0..<8)
          case 1: bytes[position] = [0, 1, 0x7f, 0xff].randomElement() ?? 0
          case 2: bytes.remove(at: position)
          default: bytes.insert(.random(in: 0...255), at: position)
          }
        }
        if try isAccepted(type(of: message).type.rawValue, bytes) { accepted += 1 }
      }
    }
    #expect(accepted > 0)
  }

  @Test("A body over the limit of its type is refused")
  func oversize() throws {
    for type in Self.requests {
      let body = [UInt8](repeating: 0, count: type.byteLimit + 1)
      let error = protocolError { () throws(ProtocolError) in _ = try parsed(type.rawValue, body) }
      guard case .malformed(.limitExceeded(_, type.byteLimit)) = error else {
        Issue.record("\(type)")
        continue
      }
    }
  }
}
