import Sodium
import Testing

@testable import VaultProtocol

@Suite("The answerer's dialogue in a meeting")
struct MeetingDialogueTests {
  private let parcel: MeetingParcel

  init() throws { parcel = try MeetingParcel() }

  /// A dialogue in a meeting of number 7, to which these parcels were offered.
  private func offered(_ offers: [CourierOffer]) throws -> AnswererDialogue {
    var dialogue = AnswererDialogue(opening: [])
    _ = try dialogue.receive(.hello(Hello(services: [.courier])))
    _ = try dialogue.receive(.courier(.greeting(greeting(7))))
    _ = try dialogue.receive(.courier(.offers(CourierOffers(request: 7, receipts: [], offers: offers))))
    return dialogue
  }

  private func greeting(_ request: UInt64) -> CourierGreeting {
    CourierGreeting(request: request, copies: [], takes: true, receipts: [])
  }

  /// What the dialogue says to these pieces of parcels that it wants.
  private func refusal(_ pieces: [CourierPiece], _ offers: [CourierOffer]) throws -> ProtocolError? {
    var dialogue = try offered(offers)
    dialogue.wants(offers.map(\.copy))
    return refusal(pieces.map { .courier(.piece($0)) }, &dialogue)
  }

  private func refusal(_ messages: [PeerRequest], _ dialogue: inout AnswererDialogue) -> ProtocolError? {
    do throws(ProtocolError) {
      for message in messages { _ = try dialogue.receive(message) }
      return nil
    } catch { return error }
  }

  @Test("takes a parcel's pieces in their order, of the size that was offered, and each parcel once")
  func pieces() throws {
    let (first, second) = (parcel.piece(7, 0), parcel.piece(7, 1))
    #expect(try refusal([first, second], [parcel.offer]) == nil)
    #expect(try refusal([first, first], [parcel.offer]) == .unexpectedPiece(number: 0))
    #expect(try refusal([second], [parcel.offer]) == .unexpectedPiece(number: 1))
    #expect(try refusal([first], [sampleOffer(parcel.copy, box: 1024)]) == .unexpectedPiece(number: 0))
    #expect(try refusal([first, second, first], [parcel.offer]) == .unexpectedMessage(0x3004))
  }

  @Test("takes parcels one behind the other, and none within another")
  func parcels() throws {
    let (other, id) = (try Randomness.bytes(46 + 1024), try ParcelCopy.fresh())
    let small = CourierPiece(request: 7, copy: id, hopsLeft: 2, branch: 1, of: other, offset: 0)
    let (first, second, offers) = (parcel.piece(7, 0), parcel.piece(7, 1), [parcel.offer, try sampleOffer(id)])
    #expect(try refusal([first, second, small], offers) == nil)
    #expect(try refusal([small, first, second], offers) == nil)
    #expect(try refusal([first, small], offers) == .unexpectedPiece(number: 0))
    #expect(try refusal([small], [parcel.offer]) == .unexpectedMessage(0x3004))
  }

  @Test("takes one copy of a parcel, with one number of hops and one branch", arguments: [(3, 1), (2, 2)])
  func copies(hopsLeft: UInt8, branch: UInt8) throws {
    let other = parcel.piece(7, 1, hopsLeft: hopsLeft, branch: branch)
    #expect(try refusal([parcel.piece(7, 0), other], [parcel.offer]) == .unexpectedPiece(number: 1))
  }

  @Test("takes no parcel that it doesn't want, and none that wasn't offered")
  func wanted() throws {
    let piece = PeerRequest.courier(.piece(parcel.piece(7, 0)))
    var unwanted = try offered([parcel.offer])
    unwanted.wants([try .fresh()])
    #expect(refusal([piece], &unwanted) == .unexpectedMessage(0x3004))
    var unknown = try offered([try sampleOffer()])
    unknown.wants([parcel.copy])
    #expect(refusal([piece], &unknown) == .unexpectedMessage(0x3004))
    var unsaid = try offered([parcel.offer])
    #expect(refusal([piece], &unsaid) == .unexpectedMessage(0x3004))
  }

  @Test("has its turn only between parcels")
  func turn() throws {
    let turn = PeerRequest.courier(.turn(CourierTurn(request: 7, replies: [])))
    var dialogue = try offered([parcel.offer])
    dialogue.wants([parcel.copy])
    #expect(refusal([.courier(.piece(parcel.piece(7, 0)))], &dialogue) == nil)
    var early = dialogue
    #expect(refusal([turn], &early) == .unexpectedMessage(0x3006))
    #expect(refusal([.courier(.piece(parcel.piece(7, 1))), turn], &dialogue) == nil)
    #expect(refusal([turn], &dialogue) == .unexpectedMessage(0x3006))
  }

  @Test("waits for a word about each parcel that it gives, and about no other, and then takes all requests again")
  func giving() throws {
    func taken(_ id: ParcelCopy) -> PeerRequest {
      .courier(.taken(CourierTaken(request: 7, copy: id, outcome: .known)))
    }
    var dialogue = try offered([])
    #expect(refusal([.courier(.turn(CourierTurn(request: 7, replies: [])))], &dialogue) == nil)
    var early = dialogue
    #expect(refusal([taken(parcel.copy)], &early) == .unexpectedMessage(0x3005))
    dialogue.gave(parcel.copy)
    #expect(refusal([taken(parcel.copy)], &dialogue) == nil)
    let next = try ParcelCopy.fresh()
    dialogue.gave(next)
    var other = dialogue
    #expect(refusal([taken(parcel.copy)], &other) == .unexpectedMessage(0x3005))
    #expect(refusal([taken(next)], &dialogue) == nil)
    #expect(refusal([.ping(Ping(request: 8))], &dialogue) == .unexpectedMessage(0x0003))
    dialogue.metToTheEnd()
    #expect(refusal([.ping(Ping(request: 8))], &dialogue) == nil)
  }

  @Test("happens at most 8 times in a session")
  func meetings() throws {
    var dialogue = try offered([])
    dialogue.metToTheEnd()
    for request in 1..<UInt64(AnswererDialogue.meetingLimit) {
      #expect(refusal([.courier(.greeting(greeting(request)))], &dialogue) == nil)
      dialogue.metToTheEnd()
    }
    #expect(refusal([.courier(.greeting(greeting(9)))], &dialogue) == .unexpectedMessage(0x3001))
  }

  @Test("is no part of a deposit, whatever is said of it there")
  func none() throws {
    var dialogue = AnswererDialogue(opening: [])
    let offer = Offer(request: 7, index: 1, sealedShare: [], header: [])
    #expect(refusal([.hello(Hello(services: [])), .offer(offer)], &dialogue) == nil)
    dialogue.began(offer, from: 0)
    dialogue.wants([parcel.copy])
    dialogue.gave(parcel.copy)
    dialogue.metToTheEnd()
    #expect(refusal([.courier(.greeting(greeting(7)))], &dialogue) == .unexpectedMessage(0x3001))
    #expect(refusal([.depositEnd(DepositEnd(request: 7))], &dialogue) == nil)
  }
}
