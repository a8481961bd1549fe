import Sodium
package import WireCodec

extension MessageRecord.Direction: NumberedWord {}
extension MessageRecord.Kind: NumberedWord {}
extension MessageRecord.State: NumberedWord {}

extension MessageRecord {
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(1)
    try writer.signed(number)
    try writer.bytes(id)
    try writer.optionalDigest(peer)
    try writer.optionalBytes(account)
    try writer.optionalText(contact)
    try writer.u8(direction.code)
    try writer.u8(kind.code)
    try writer.flag(isSealed)
    try writer.optionalText(name)
    try writer.optionalText(mediaType)
    try writer.signed(byteCount)
    try writer.count16(partCount)
    try writer.count16(partsDone)
    try writer.optionalDigest(digest)
    for time in [sentAt, storedAt, deliveredAt, readAt] { try writer.signed(time) }
    try writer.text16(route)
    try writer.u8(hops)
    guard let count = UInt8(exactly: carriers.count) else { throw .invalidValue(field: "carriers") }
    try writer.u8(count)
    for carrier in carriers { try writer.bytes(carrier.bytes) }
    try writer.u8(ways.rawValue)
    try writer.signed(expiresAt)
    try writer.u8(state.code)
  }

  package init(from reader: inout Reader) throws(WireError) {
    guard try reader.u8("version") == 1 else { throw .invalidValue(field: "version") }
    number = try reader.signed("number")
    id = try reader.bytes(Self.idByteCount, "id")
    peer = try reader.optionalDigest("peer")
    account = try reader.optionalBytes(AccountRecord.idByteCount, "account")
    contact = try reader.optionalText(limit: AccountRecord.addressByteLimit, "contact")
    direction = try reader.word("direction")
    kind = try reader.word("kind")
    isSealed = try reader.flag("sealed")
    name = try reader.optionalText(limit: Self.nameByteLimit, "name")
    mediaType = try reader.optionalText(limit: Self.mediaTypeByteLimit, "media type")
    byteCount = try reader.signed("size")
    partCount = try reader.count16(limit: Self.partLimit, "parts")
    partsDone = try reader.count16(limit: Self.partLimit, "parts that are done")
    digest = try reader.optionalDigest("digest")
    sentAt = try reader.signed("sent")
    storedAt = try reader.signed("stored")
    deliveredAt = try reader.signed("delivered")
    readAt = try reader.signed("read")
    route = try reader.text16(limit: Self.routeByteLimit, "route")
    hops = try reader.u8("hops")
    let carrierCount = Int(try reader.u8("carriers"))
    guard carrierCount <= Self.carrierLimit else { throw .limitExceeded(field: "carriers", limit: Self.carrierLimit) }
    var carriers: [Digest] = []
    for _ in 0..<carrierCount { carriers.append(try reader.digest("carrier")) }
    self.carriers = carriers
    ways = ParcelRecord.Ways(rawValue: try reader.u8("ways"))
    expiresAt = try reader.signed("expires")
    state = try reader.word("state")
    do throws(StoreError) { try check() } catch { throw .invalidValue(field: "a message") }
  }
}
