import Sodium
import VaultProtocol
import WireCodec

enum MeetingSamples {
  static func all() throws -> [Sample] {
    let number = bigEndian(WalkedExample.request)
    func body(_ type: MessageType, _ parts: [UInt8]...) -> [UInt8] { bigEndian(type.rawValue) + parts.joined() }
    let (id, other) = (many(1, 16), many(2, 16))
    let offer = id + many(7, 16) + bigEndian(UInt32(1070)) + bigEndian(UInt64(Parcel.hour)) + [2, 1, 1]
    let receipt = id + [5] + bigEndian(UInt64(Parcel.hour)) + many(9, 48)
    let reply = id + [1, 0xff, 0xff]
    let piece = number + id + [2, 1] + bigEndian(UInt32(1070)) + bigEndian(UInt32(0)) + bigEndian(UInt32(1070))
    let one: [UInt8] = [0, 1]
    let two: [UInt8] = [0, 2]
    let none: [UInt8] = [0, 0]
    let valid: KeyValuePairs<String, [UInt8]> = [
      "valid-meeting": body(.courierGreeting, number, two, id, other, [1], one, receipt),
      "valid-meeting-of-nothing": body(.courierGreeting, number, none, [0], none),
      "valid-offers": body(.courierOffers, number, one, receipt, one, offer),
      "valid-parcel-piece": body(.courierPiece, piece, many(3, 1070)),
      "valid-taken": body(.courierTaken, number, id, [1, 1], receipt),
      "valid-taken-refused": body(.courierTaken, number, id, [3, 0]),
      "valid-turn": body(.courierTurn, number, one, reply),
    ]
    return Sample.of("request", valid) + Sample.of("message", valid)
      + Sample.of(
        "message",
        [
          "valid-offer-for-servers": body(.courierOffers, number, none, one, offer.with(46, [3])),
          "valid-replies": body(.courierReplies, number, one, reply, one, offer),
          "valid-meeting-end": body(.courierEnd, number),
          "meeting-out-of-order": body(.courierGreeting, number, two, other, id, [1], none),
          "meeting-names-a-parcel-twice": body(.courierGreeting, number, two, id, id, [1], none),
          "meeting-with-huge-count": body(.courierGreeting, number, [0xff, 0xff]),
          "meeting-of-no-parcel": body(.courierGreeting, number, one, many(0, 16), [1], none),
          "meeting-receipts-with-huge-count": body(.courierGreeting, number, none, [1, 0xff, 0xff]),
          "receipt-of-unknown-branch": body(.courierOffers, number, one, receipt.with(16, [6]), none),
          "receipt-without-end": body(.courierOffers, number, one, receipt.with(17, many(0xff, 8)), none),
          "receipts-twice-for-one": body(.courierOffers, number, two, receipt, receipt, none),
          "offers-with-huge-count": body(.courierOffers, number, none, [1, 1]),
          "offers-twice-of-one": body(.courierOffers, number, none, two, offer, offer),
          "offer-of-odd-size": body(.courierOffers, number, none, one, offer.with(32, bigEndian(UInt32(1071)))),
          "offer-of-huge-size": body(.courierOffers, number, none, one, offer.with(32, many(0xff, 4))),
          "offer-of-nine-hops": body(.courierOffers, number, none, one, offer.with(44, [9])),
          "offer-of-unknown-branch": body(.courierOffers, number, none, one, offer.with(45, [6])),
          "offer-with-unknown-flag": body(.courierOffers, number, none, one, offer.with(46, [5])),
          "offer-that-expires-never": body(.courierOffers, number, none, one, offer.with(36, many(0, 8))),
          "unknown-reply": body(.courierTurn, number, one, reply.with(16, [4])),
          "refusal-with-claim": body(.courierTurn, number, one, reply.with(16, [3])),
          "replies-twice-to-one": body(.courierTurn, number, two, reply, reply),
          "truncated-turn": body(.courierTurn, number, one, reply).without(last: 1),
          "parcel-piece-too-short": body(.courierPiece, piece.with(34, bigEndian(UInt32(1069))), many(3, 1069)),
          "parcel-piece-between-places": body(.courierPiece, piece.with(30, bigEndian(UInt32(1))), many(3, 1070)),
          "parcel-piece-behind-the-end": body(.courierPiece, piece.with(30, bigEndian(UInt32(65_536))), many(3, 1070)),
          "parcel-piece-with-huge-length": body(.courierPiece, piece.with(34, many(0xff, 4))),
          "parcel-piece-of-huge-parcel": body(.courierPiece, piece.with(26, many(0xff, 4)), many(3, 1070)),
          "taken-with-another-receipt": body(.courierTaken, number, other, [1, 1], receipt),
          "refused-with-receipt": body(.courierTaken, number, id, [3, 1], receipt),
          "taken-somehow": body(.courierTaken, number, id, [4, 0]),
          "trailing-byte-meeting-end": body(.courierEnd, number, [0]),
        ])
  }
}
