import Sodium
import VaultProtocol
import WireCodec

enum MeetingSamples {
  static func all() throws -> [Sample] {
    let number = bigEndian(WalkedExample.request)
    func body(_ type: MessageType, _ parts: [UInt8]...) -> [UInt8] { bigEndian(type.rawValue) + parts.joined() }
    let (id, other) = (many(1, 16), many(2, 16))
    let (copy, otherCopy) = (id + many(4, 16), other + many(4, 16))
    let offer = copy + many(7, 16) + bigEndian(UInt32(1070)) + bigEndian(UInt64(Parcel.hour)) + [2, 1, 1]
    let receipt = id + [5] + bigEndian(UInt64(Parcel.hour)) + many(9, 48)
    let reply = copy + [1, 0xff, 0xff]
    let piece = number + copy + [2, 1] + bigEndian(UInt32(1070)) + bigEndian(UInt32(0)) + bigEndian(UInt32(1070))
    let one: [UInt8] = [0, 1]
    let two: [UInt8] = [0, 2]
    let none: [UInt8] = [0, 0]
    let valid: KeyValuePairs<String, [UInt8]> = [
      "valid-meeting": body(.courierGreeting, number, two, copy, otherCopy, [1], one, receipt),
      "valid-meeting-of-nothing": body(.courierGreeting, number, none, [0], none),
      "valid-offers": body(.courierOffers, number, one, receipt, one, offer),
      "valid-parcel-piece": body(.courierPiece, piece, many(3, 1070)),
      "valid-taken": body(.courierTaken, number, copy, [1, 1], receipt),
      "valid-taken-refused": body(.courierTaken, number, copy, [3, 0]),
      "valid-turn": body(.courierTurn, number, one, reply),
    ]
    return Sample.of("request", valid) + Sample.of("message", valid)
      + Sample.of(
        "message",
        [
          "valid-offer-for-servers": body(.courierOffers, number, none, one, offer.with(62, [3])),
          "valid-replies": body(.courierReplies, number, one, reply, one, offer),
          "valid-meeting-end": body(.courierEnd, number),
          "meeting-out-of-order": body(.courierGreeting, number, two, otherCopy, copy, [1], none),
          "valid-meeting-of-two-copies": body(.courierGreeting, number, two, copy, id + many(5, 16), [1], none),
          "valid-offers-of-two-copies": body(
            .courierOffers, number, none, two, offer, offer.with(16, many(5, 16))),
          "meeting-of-copies-out-of-order": body(
            .courierGreeting, number, two, copy, id + many(3, 16), [1], none),
          "meeting-of-ids-alone": body(.courierGreeting, number, two, id, other, [1], none),
          "meeting-names-a-parcel-twice": body(.courierGreeting, number, two, copy, copy, [1], none),
          "meeting-with-huge-count": body(.courierGreeting, number, [0xff, 0xff]),
          "meeting-of-no-parcel": body(.courierGreeting, number, one, many(0, 32), [1], none),
          "meeting-receipts-with-huge-count": body(.courierGreeting, number, none, [1, 0xff, 0xff]),
          "receipt-of-unknown-branch": body(.courierOffers, number, one, receipt.with(16, [6]), none),
          "receipt-without-end": body(.courierOffers, number, one, receipt.with(17, many(0xff, 8)), none),
          "receipts-twice-for-one": body(.courierOffers, number, two, receipt, receipt, none),
          "offers-with-huge-count": body(.courierOffers, number, none, [1, 1]),
          "offers-twice-of-one": body(.courierOffers, number, none, two, offer, offer),
          "offer-of-odd-size": body(.courierOffers, number, none, one, offer.with(48, bigEndian(UInt32(1071)))),
          "offer-of-huge-size": body(.courierOffers, number, none, one, offer.with(48, many(0xff, 4))),
          "offer-of-nine-hops": body(.courierOffers, number, none, one, offer.with(60, [9])),
          "offer-of-unknown-branch": body(.courierOffers, number, none, one, offer.with(61, [6])),
          "offer-with-unknown-flag": body(.courierOffers, number, none, one, offer.with(62, [5])),
          "offer-that-expires-never": body(.courierOffers, number, none, one, offer.with(52, many(0, 8))),
          "unknown-reply": body(.courierTurn, number, one, reply.with(32, [4])),
          "refusal-with-claim": body(.courierTurn, number, one, reply.with(32, [3])),
          "replies-twice-to-one": body(.courierTurn, number, two, reply, reply),
          "truncated-turn": body(.courierTurn, number, one, reply).without(last: 1),
          "parcel-piece-too-short": body(.courierPiece, piece.with(50, bigEndian(UInt32(1069))), many(3, 1069)),
          "parcel-piece-between-places": body(.courierPiece, piece.with(46, bigEndian(UInt32(1))), many(3, 1070)),
          "parcel-piece-behind-the-end": body(.courierPiece, piece.with(46, bigEndian(UInt32(65_536))), many(3, 1070)),
          "parcel-piece-with-huge-length": body(.courierPiece, piece.with(50, many(0xff, 4))),
          "parcel-piece-of-huge-parcel": body(.courierPiece, piece.with(42, many(0xff, 4)), many(3, 1070)),
          "taken-with-another-receipt": body(.courierTaken, number, otherCopy, [1, 1], receipt),
          "refused-with-receipt": body(.courierTaken, number, copy, [3, 1], receipt),
          "taken-somehow": body(.courierTaken, number, copy, [4, 0]),
          "trailing-byte-meeting-end": body(.courierEnd, number, [0]),
        ])
  }
}
