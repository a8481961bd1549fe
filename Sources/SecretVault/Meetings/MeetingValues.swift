import Courier
import VaultProtocol

// What is said in a meeting, in the values of the library that decides, and back.

extension CarrierGreeting {
  init(_ greeting: CourierGreeting) {
    self.init(ids: greeting.ids.compactMap { ParcelKey($0.bytes) }, takes: greeting.takes)
  }

  func message(_ request: UInt64, _ receipts: [CarriedReceipt]) -> CourierGreeting {
    CourierGreeting(
      request: request, ids: ids.compactMap { ParcelID($0.bytes) }, takes: takes,
      receipts: receipts.messages)
  }
}

extension CarriedOffer {
  init?(_ offer: CourierOffer) {
    guard let id = ParcelKey(offer.id.bytes), let tag = RecipientTag(offer.tag),
      let header = ParcelHeader(
        id: id, tag: tag, size: offer.size, expiresAt: offer.expiresAt, hopsLeft: offer.hopsLeft, branch: offer.branch,
        allowsServers: offer.allowsServers)
    else { return nil }
    self.init(header: header, isYours: offer.isYours)
  }
}

extension [CarriedOffer] {
  /// For the wire, where each parcel is named once.
  var messages: [CourierOffer] {
    unique(self) { $0.header.id }.compactMap { offer in
      ParcelID(offer.header.id.bytes).map {
        CourierOffer(
          id: $0, tag: offer.header.tag.bytes, size: offer.header.size, expiresAt: offer.header.expiresAt,
          hopsLeft: offer.header.hopsLeft, branch: offer.header.branch, isYours: offer.isYours,
          allowsServers: offer.header.allowsServers)
      }
    }
  }
}

extension CarriedReply {
  init?(_ reply: CourierReply) {
    guard let id = ParcelKey(reply.id.bytes) else { return nil }
    switch reply.answer {
    case .wanted(let claim): self.init(id: id, answer: .wanted(claim))
    case .had: self.init(id: id, answer: .had)
    case .refused: self.init(id: id, answer: .refused)
    }
  }
}

extension [CarriedReply] {
  /// For the wire.
  var messages: [CourierReply] {
    unique(self) { $0.id }.compactMap { reply in
      ParcelID(reply.id.bytes).map { id in
        switch reply.answer {
        case .wanted(let claim): CourierReply(id: id, answer: .wanted(claim: claim))
        case .had: CourierReply(id: id, answer: .had)
        case .refused: CourierReply(id: id, answer: .refused)
        }
      }
    }
  }
}

extension CarriedReceipt {
  init?(_ receipt: ParcelReceipt) {
    guard let id = ParcelKey(receipt.id.bytes) else { return nil }
    self.init(id: id, branch: receipt.branch, expiresAt: receipt.expiresAt, proof: receipt.proof)
  }

  /// For the wire.
  var message: ParcelReceipt? {
    ParcelID(id.bytes).map { ParcelReceipt(id: $0, branch: branch, expiresAt: expiresAt, proof: proof) }
  }
}

extension [CarriedReceipt] {
  /// For the wire.
  var messages: [ParcelReceipt] { unique(self) { $0.id }.compactMap(\.message) }
}

/// The first with each name, and no more than a message may name.
private func unique<Value>(_ values: [Value], _ name: (Value) -> ParcelKey) -> [Value] {
  var names: Set<ParcelKey> = []
  return Array(values.filter { names.insert(name($0)).inserted }.prefix(CourierOffer.countLimit))
}
