import VaultStore

extension Messages {
  /// Messages that wait, other own parcels, and what is carried for others.
  package func outbox() throws -> OutboxSummary {
    let names = try directory.peerNames()
    var filter = MessageFilter(direction: .sent, states: [.waiting, .underway])
    let account = try database.accounts().first { $0.isCurrent }
    filter.plain = account.map { .of(account: $0.id) } ?? .none
    let messages = try database.messages(filter)
    let carried = try carrying.carriedSummary()
    let withCarriers = try carrying.parcelsWithCarriers()
    var parcels: [OutboxParcel] = []
    let now = environment.now()
    let byteCounts = try database.parcelByteCounts()
    let own = try post.ownParcels().filter { WayOrder.isUnderWay($0, at: now) }
    for record in own.oldestFirst() {
      var ways = record.triedRoutes.filter { $0 != Way.carriers.name }
      if withCarriers.contains(record.id.bytes) { ways.append(Way.carriers.name) }
      parcels.append(
        OutboxParcel(
          kind: record.kindName, peer: names[record.peer], byteCount: byteCounts[record.id] ?? 0,
          createdAt: record.createdAt, expiresAt: record.expiresAt, ways: ways))
    }
    return OutboxSummary(messages: messages.reversed().map { summary($0, names) }, parcels: parcels, carried: carried)
  }
}

extension ParcelRecord {
  fileprivate var kindName: String {
    switch direction {
    case .request where isProbe: "probe"
    case .request: delivery != nil ? "deposit" : secretID != nil ? "request" : "item"
    case .answer: "answer"
    case .change: "change"
    case .receipt: "receipt"
    case .message: "message"
    case .received: "received"
    }
  }
}
