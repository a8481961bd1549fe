import Sodium
package import WireCodec

extension MessageRecord.Direction {
  var code: UInt8 {
    switch self {
    case .sent: 1
    case .received: 2
    }
  }
}

extension MessageRecord.Kind {
  var code: UInt8 {
    switch self {
    case .text: 1
    case .file: 2
    case .photo: 3
    }
  }
}

extension MessageRecord.State {
  var code: UInt8 {
    switch self {
    case .waiting: 1
    case .underway: 2
    case .delivered: 3
    case .read: 4
    case .lost: 5
    case .partial: 6
    case .new: 7
    case .seen: 8
    }
  }
}

extension MessageRecord {
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(1)
    try writer.u64(UInt64(bitPattern: number))
    try writer.bytes(id)
    try writer.flag(peer != nil)
    try writer.bytes(peer?.bytes ?? [])
    try writer.flag(account != nil)
    try writer.bytes(account ?? [])
    try writer.optionalText(contact)
    try writer.u8(direction.code)
    try writer.u8(kind.code)
    try writer.flag(isSealed)
    try writer.optionalText(name)
    try writer.optionalText(mediaType)
    try writer.u64(UInt64(bitPattern: byteCount))
    try writer.count16(partCount)
    try writer.count16(partsDone)
    try writer.flag(digest != nil)
    try writer.bytes(digest?.bytes ?? [])
    for time in [sentAt, storedAt, deliveredAt, readAt] { try writer.u64(UInt64(bitPattern: time)) }
    try writer.text16(route)
    try writer.u8(hops)
    guard let count = UInt8(exactly: carriers.count) else { throw .invalidValue(field: "carriers") }
    try writer.u8(count)
    for carrier in carriers { try writer.bytes(carrier.bytes) }
    try writer.u8(ways.rawValue)
    try writer.u64(UInt64(bitPattern: expiresAt))
    try writer.u8(state.code)
  }

  package init(from reader: inout Reader) throws(WireError) {
    guard try reader.u8("version") == 1 else { throw .invalidValue(field: "version") }
    number = Int64(bitPattern: try reader.u64("number"))
    id = try reader.bytes(Self.idByteCount, "id")
    peer = try reader.flag("peer") ? try reader.digest("peer") : nil
    account = try reader.flag("account") ? try reader.bytes(AccountRecord.idByteCount, "account") : nil
    contact = try reader.optionalText(limit: AccountRecord.addressByteLimit, "contact")
    let directionCode = try reader.u8("direction")
    let kindCode = try reader.u8("kind")
    isSealed = try reader.flag("sealed")
    name = try reader.optionalText(limit: Self.nameByteLimit, "name")
    mediaType = try reader.optionalText(limit: Self.mediaTypeByteLimit, "media type")
    byteCount = Int64(bitPattern: try reader.u64("size"))
    partCount = try reader.count16(limit: Self.partLimit, "parts")
    partsDone = try reader.count16(limit: Self.partLimit, "parts that are done")
    digest = try reader.flag("digest") ? try reader.digest("digest") : nil
    sentAt = Int64(bitPattern: try reader.u64("sent"))
    storedAt = Int64(bitPattern: try reader.u64("stored"))
    deliveredAt = Int64(bitPattern: try reader.u64("delivered"))
    readAt = Int64(bitPattern: try reader.u64("read"))
    route = try reader.text16(limit: Self.routeByteLimit, "route")
    hops = try reader.u8("hops")
    let carrierCount = Int(try reader.u8("carriers"))
    guard carrierCount <= Self.carrierLimit else { throw .limitExceeded(field: "carriers", limit: Self.carrierLimit) }
    var carriers: [Digest] = []
    for _ in 0..<carrierCount { carriers.append(try reader.digest("carrier")) }
    self.carriers = carriers
    ways = ParcelRecord.Ways(rawValue: try reader.u8("ways"))
    expiresAt = Int64(bitPattern: try reader.u64("expires"))
    let stateCode = try reader.u8("state")
    guard let direction = Direction.allCases.first(where: { $0.code == directionCode }),
      let kind = Kind.allCases.first(where: { $0.code == kindCode }),
      let state = State.allCases.first(where: { $0.code == stateCode })
    else { throw .invalidValue(field: "words of a message") }
    (self.direction, self.kind, self.state) = (direction, kind, state)
    do throws(StoreError) { try check() } catch { throw .invalidValue(field: "a message") }
  }
}

extension Writer {
  /// A flag and, if it is set, the text with its 16-bit length.
  @_lifetime(self: copy self)
  mutating func optionalText(_ text: String?) throws(WireError) {
    try flag(text != nil)
    if let text { try text16(text) }
  }
}

extension Reader {
  mutating func digest(_ field: StaticString) throws(WireError) -> Digest {
    let bytes = try bytes(Digest.byteCount, field)
    do throws(SodiumError) { return try Digest(bytes) } catch { throw .invalidValue(field: field.description) }
  }

  /// What ``Writer/optionalText(_:)`` writes.
  mutating func optionalText(limit: Int, _ field: StaticString) throws(WireError) -> String? {
    guard try flag(field) else { return nil }
    return try text16(limit: limit, field)
  }
}
