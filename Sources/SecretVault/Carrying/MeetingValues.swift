import Courier
import VaultProtocol

// Messages of a meeting as values of `Courier`, and back.

extension CopyKey {
  init?(_ copy: ParcelCopy) {
    guard let id = ParcelKey(copy.id.bytes), let digest = CopyDigest(copy.digest) else { return nil }
    self.init(id: id, digest: digest)
  }

  var message: ParcelCopy? { ParcelID(id.bytes).flatMap { ParcelCopy(id: $0, digest: digest.bytes) } }
}

extension CarrierGreeting {
  init(_ greeting: CourierGreeting) {
    self.init(copies: greeting.copies.compactMap { CopyKey($0) }, takes: greeting.takes)
  }

  func message(_ request: UInt64, _ receipts: [CarriedReceipt]) -> CourierGreeting {
    CourierGreeting(
      request: request, copies: copies.compactMap(\.message), takes: takes, receipts: receipts.messages)
  }
}

extension CarriedOffer {
  init?(_ offer: CourierOffer) {
    guard let copy = CopyKey(offer.copy), let tag = RecipientTag(offer.tag),
      let header = ParcelHeader(
        copy: copy, tag: tag, size: offer.size, expiresAt: offer.expiresAt, hopsLeft: offer.hopsLeft,
        branch: offer.branch, allowsServers: offer.allowsServers)
    else { return nil }
    self.init(header: header, isYours: offer.isYours)
  }
}

extension [CarriedOffer] {
  /// Each copy is named once.
  var messages: [CourierOffer] {
    unique(self) { $0.header.copy }.compactMap { offer in
      offer.header.copy.message.map {
        CourierOffer(
          copy: $0, tag: offer.header.tag.bytes, size: offer.header.size, expiresAt: offer.header.expiresAt,
          hopsLeft: offer.header.hopsLeft, branch: offer.header.branch, isYours: offer.isYours,
          allowsServers: offer.header.allowsServers)
      }
    }
  }
}

extension CarriedReply {
  init?(_ reply: CourierReply) {
    guard let copy = CopyKey(reply.copy) else { return nil }
    switch reply.answer {
    case .wanted(let claim): self.init(copy: copy, answer: .wanted(claim))
    case .had: self.init(copy: copy, answer: .had)
    case .refused: self.init(copy: copy, answer: .refused)
    }
  }
}

extension [CarriedReply] {
  var messages: [CourierReply] {
    unique(self) { $0.copy }.compactMap { reply in
      reply.copy.message.map { copy in
        switch reply.answer {
        case .wanted(let claim): CourierReply(copy: copy, answer: .wanted(claim: claim))
        case .had: CourierReply(copy: copy, answer: .had)
        case .refused: CourierReply(copy: copy, answer: .refused)
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

  var message: ParcelReceipt? {
    ParcelID(id.bytes).map { ParcelReceipt(id: $0, branch: branch, expiresAt: expiresAt, proof: proof) }
  }
}

extension [CarriedReceipt] {
  var messages: [ParcelReceipt] { unique(self) { $0.id }.compactMap(\.message) }
}

/// The first of each name, and no more than a message may have.
private func unique<Value, Name: Hashable>(_ values: [Value], _ name: (Value) -> Name) -> [Value] {
  var names: Set<Name> = []
  return Array(values.filter { names.insert(name($0)).inserted }.prefix(CourierOffer.countLimit))
}
