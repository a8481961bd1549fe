import Sodium
import Testing

@testable import VaultProtocol

@Suite("The answerer's dialogue in a meeting")
struct MeetingDialogueTests {
  private let parcel: MeetingParcel

  init() throws { parcel = try MeetingParcel() }

  /// A dialogue in a meeting of number 7, to which these parcels were offered.
  private func offered(_ offers: [CourierOffer]) throws -> Exchanges {
    var dialogue = Exchanges(opening: [])
    _ = try dialogue.receive(.init(Hello(services: [.courier])))
    _ = try dialogue.receive(.init(greeting(7)))
    _ = try dialogue.receive(.init(CourierOffers(request: 7, receipts: [], offers: offers)))
    return dialogue
  }

  private func greeting(_ request: UInt64) -> CourierGreeting {
    CourierGreeting(request: request, copies: [], takes: true, receipts: [])
  }

  /// What the dialogue says to these pieces of parcels that it wants.
  private func refusal(_ pieces: [CourierPiece], _ offers: [CourierOffer]) throws -> ProtocolError? {
    var dialogue = try offered(offers)
    dialogue.meeting.wants(offers.map(\.copy))
    return refusal(try pieces.map { try .init($0) }, &dialogue)
  }

  private func refusal(_ messages: [Exchanges.Request], _ dialogue: inout Exchanges) -> ProtocolError? {
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
    let piece = try Exchanges.Request(parcel.piece(7, 0))
    var unwanted = try offered([parcel.offer])
    unwanted.meeting.wants([try .fresh()])
    #expect(refusal([piece], &unwanted) == .unexpectedMessage(0x3004))
    var unknown = try offered([try sampleOffer()])
    unknown.meeting.wants([parcel.copy])
    #expect(refusal([piece], &unknown) == .unexpectedMessage(0x3004))
    var unsaid = try offered([parcel.offer])
    #expect(refusal([piece], &unsaid) == .unexpectedMessage(0x3004))
  }

  @Test("has its turn only between parcels")
  func turn() throws {
    let turn = try Exchanges.Request(CourierTurn(request: 7, replies: []))
    var dialogue = try offered([parcel.offer])
    dialogue.meeting.wants([parcel.copy])
    #expect(try refusal([.init(parcel.piece(7, 0))], &dialogue) == nil)
    var early = dialogue
    #expect(refusal([turn], &early) == .unexpectedMessage(0x3006))
    #expect(try refusal([.init(parcel.piece(7, 1)), turn], &dialogue) == nil)
    #expect(refusal([turn], &dialogue) == .unexpectedMessage(0x3006))
  }

  @Test("waits for a word about each parcel that it gives, and about no other, and then takes all requests again")
  func giving() throws {
    func taken(_ id: ParcelCopy) throws -> Exchanges.Request {
      try .init(CourierTaken(request: 7, copy: id, outcome: .known))
    }
    var dialogue = try offered([])
    #expect(try refusal([.init(CourierTurn(request: 7, replies: []))], &dialogue) == nil)
    var early = dialogue
    #expect(try refusal([taken(parcel.copy)], &early) == .unexpectedMessage(0x3005))
    dialogue.meeting.gave(parcel.copy)
    #expect(try refusal([taken(parcel.copy)], &dialogue) == nil)
    let next = try ParcelCopy.fresh()
    dialogue.meeting.gave(next)
    var other = dialogue
    #expect(try refusal([taken(parcel.copy)], &other) == .unexpectedMessage(0x3005))
    #expect(try refusal([taken(next)], &dialogue) == nil)
    #expect(try refusal([.init(Ping(request: 8))], &dialogue) == .unexpectedMessage(0x0003))
    dialogue.meeting.metToTheEnd()
    #expect(try refusal([.init(Ping(request: 8))], &dialogue) == nil)
  }

  @Test("happens at most 8 times in a session")
  func meetings() throws {
    var dialogue = try offered([])
    dialogue.meeting.metToTheEnd()
    for request in 1..<UInt64(MeetingAnswerer.limit) {
      #expect(try refusal([.init(greeting(request))], &dialogue) == nil)
      dialogue.meeting.metToTheEnd()
    }
    #expect(try refusal([.init(greeting(9))], &dialogue) == .unexpectedMessage(0x3001))
  }

  @Test("is no part of a deposit, whatever is said of it there")
  func none() throws {
    var dialogue = Exchanges(opening: [])
    let offer = Offer(request: 7, index: 1, sealedShare: [], header: [])
    #expect(try refusal([.init(Hello(services: [])), .init(offer)], &dialogue) == nil)
    dialogue.deposit.began(offer, from: 0)
    dialogue.meeting.wants([parcel.copy])
    dialogue.meeting.gave(parcel.copy)
    dialogue.meeting.metToTheEnd()
    #expect(try refusal([.init(greeting(7))], &dialogue) == .unexpectedMessage(0x3001))
    #expect(try refusal([.init(DepositEnd(request: 7))], &dialogue) == nil)
  }
}
