package import WireCodec

extension CourierPolicy {
  static let encodedByteCount = 1 + 1 + 1 + 8 + 1

  func encode(into writer: inout Writer) throws(WireError) {
    try writer.count8(carriers)
    try writer.u8(hops)
    try writer.count8(handOn)
    try writer.time(patience)
    try writer.flag(usesRecords)
  }

  init(from reader: inout Reader) throws(WireError) {
    let carriers = try reader.count8(limit: ParcelHeader.branchLimit, "carriers")
    let hops = try reader.u8("hops")
    let handOn = try reader.count8(limit: Self.handOnLimit, "hands")
    let patience = try reader.time("patience")
    self.init(
      carriers: carriers, hops: hops, handOn: handOn, patience: patience, usesRecords: try reader.flag("records"))
    guard self.hops == hops, self.patience == patience else { throw .invalidValue(field: "policy") }
  }
}

extension CarryingLimits {
  var encodedByteCount: Int { 1 + 5 * 8 + 1 + (fairShare == nil ? 0 : 16) }

  func encode(into writer: inout Writer) throws(WireError) {
    try writer.flag(isOn)
    for number in [bytes, bytesADay, bytesPerGiver, strangersPercent, leastBattery] {
      try writer.time(Int64(number))
    }
    try writer.flag(fairShare != nil)
    if let fairShare {
      try writer.time(Int64(fairShare.allowance))
      try writer.time(Int64(fairShare.percent))
    }
  }

  /// Any number is allowed: what can't be used counts as none.
  init(from reader: inout Reader) throws(WireError) {
    self.init()
    isOn = try reader.flag("on")
    bytes = Int(try reader.time("bytes"))
    bytesADay = Int(try reader.time("bytes a day"))
    bytesPerGiver = Int(try reader.time("bytes of one"))
    strangersPercent = Int(try reader.time("strangers"))
    leastBattery = Int(try reader.time("battery"))
    if try reader.flag("fair share") {
      fairShare = FairShare(allowance: Int(try reader.time("allowance")), percent: Int(try reader.time("percent")))
    }
  }
}

extension CarryingAccount {
  static let encodedByteCount = 7 * 8

  func encode(into writer: inout Writer) throws(WireError) {
    try writer.time(day)
    for number in [
      movedToday, carriedForOthers, carriedForMe, deliveredForOthers, sentDirectly, sentByCarriers,
    ] { try writer.number(number) }
  }

  init(from reader: inout Reader) throws(WireError) {
    self.init()
    day = try reader.time("day")
    movedToday = try reader.number("bytes of the day")
    carriedForOthers = try reader.number("bytes for others")
    carriedForMe = try reader.number("bytes by others")
    deliveredForOthers = try reader.number("parcels for others")
    sentDirectly = try reader.number("parcels sent directly")
    sentByCarriers = try reader.number("parcels sent by carriers")
  }
}

extension ReceiptBook {
  var encodedByteCount: Int {
    4 + entries.values.reduce(0) { $0 + 16 + 1 + 8 + 1 + $1.receipt.proof.count + 32 + 8 }
  }

  /// In the order in which they were learned.
  func encode(into writer: inout Writer) throws(WireError) {
    try writer.count32(order.count)
    for learning in order {
      guard let entry = entries[learning.id] else { throw .invalidValue(field: "receipts") }
      try writer.key(learning.id)
      try writer.u8(entry.receipt.branch)
      try writer.time(entry.receipt.expiresAt)
      try writer.count8(entry.receipt.proof.count)
      try writer.bytes(entry.receipt.proof)
      try writer.key(entry.from)
      try writer.time(learning.learnedAt)
    }
  }

  init(from reader: inout Reader) throws(WireError) {
    self.init()
    for _ in 0..<(try reader.count32(limit: Self.limit, "receipts")) {
      let id: ParcelKey = try reader.key("receipt")
      let branch = try reader.u8("branch")
      let expiresAt = try reader.time("expiry")
      let proof = try reader.bytes(reader.count8(limit: Receipt.proofLimit, "proof"), "proof")
      let from = try reader.device("giver")
      guard let receipt = Receipt(id: id, branch: branch, expiresAt: expiresAt, proof: proof), entries[id] == nil
      else { throw .invalidValue(field: "receipt") }
      entries[id] = Entry(receipt: receipt, from: from)
      counts[from, default: 0] += 1
      order.append(Learning(id: id, from: from, learnedAt: try reader.time("learning")))
      soonest = min(soonest, expiresAt)
    }
  }
}

extension Encounters {
  var encodedByteCount: Int { 4 + entries.count * (32 + 8 + 8 + 1 + 8) }

  func encode(into writer: inout Writer) throws(WireError) {
    try writer.count32(entries.count)
    for (device, entry) in entries.sorted(by: { $0.key < $1.key }) {
      try writer.key(device)
      try writer.fraction(entry.value)
      try writer.time(entry.metAt)
      try writer.flag(entry.isPeer)
      try writer.time(entry.toldAt)
    }
  }

  init(from reader: inout Reader) throws(WireError) {
    self.init()
    var last: DeviceKey?
    for _ in 0..<(try reader.count32(limit: Self.limit, "encounters")) {
      let device = try reader.device("encounter")
      try ascend(device, &last)
      let value = try reader.fraction("predictability")
      guard value <= Self.ceiling else { throw .invalidValue(field: "predictability") }
      entries[device] = Entry(
        value: value, metAt: try reader.time("meeting"), isPeer: try reader.flag("peer"),
        toldAt: try reader.time("receipts"))
    }
  }
}

extension CarrierRecords {
  var encodedByteCount: Int { 4 + records.count * (32 + Record.encodedByteCount) + Record.encodedByteCount }

  func encode(into writer: inout Writer) throws(WireError) {
    try writer.count32(records.count)
    for (carrier, record) in records.sorted(by: { $0.key < $1.key }) {
      try writer.key(carrier)
      try record.encode(into: &writer)
    }
    try all.encode(into: &writer)
  }

  init(from reader: inout Reader) throws(WireError) {
    self.init()
    var last: DeviceKey?
    for _ in 0..<(try reader.count32(limit: Self.limit, "carriers")) {
      let carrier = try reader.device("carrier")
      try ascend(carrier, &last)
      records[carrier] = try Record(from: &reader)
    }
    all = try Record(from: &reader)
  }
}

extension CarrierRecords.Record {
  static let encodedByteCount = 3 * 8

  func encode(into writer: inout Writer) throws(WireError) {
    try writer.fraction(settled)
    try writer.fraction(arrived)
    try writer.time(at)
  }

  /// Nothing arrives that wasn't settled.
  init(from reader: inout Reader) throws(WireError) {
    self.init(
      settled: try reader.fraction("settled"), arrived: try reader.fraction("arrived"), at: try reader.time("settling"))
    guard arrived <= settled else { throw .invalidValue(field: "arrived") }
  }
}

extension SeenParcels {
  var encodedByteCount: Int { 4 + expiries.keys.reduce(0) { $0 + $1.encodedByteCount + 8 } }

  func encode(into writer: inout Writer) throws(WireError) {
    try writer.count32(expiries.count)
    for (key, expiry) in expiries.sorted(by: { $0.key < $1.key }) {
      try key.encode(into: &writer)
      try writer.time(expiry)
    }
  }

  init(from reader: inout Reader) throws(WireError) {
    self.init()
    var last: Key?
    for _ in 0..<(try reader.count32(limit: Self.limit, "parcels seen")) {
      let key = try Key(from: &reader)
      try ascend(key, &last)
      expiries[key] = try reader.time("expiry")
    }
  }
}

extension ShortKey: WireValue {
  package var encodedByteCount: Int { 16 }

  package func encode(into writer: inout Writer) throws(WireError) { try writer.key(self) }

  package init(from reader: inout Reader) throws(WireError) { self = try reader.key("parcel") }
}

extension CopyKey: WireValue {
  package var encodedByteCount: Int { 32 }

  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.key(id)
    try writer.key(digest)
  }

  package init(from reader: inout Reader) throws(WireError) {
    self.init(id: try reader.key("parcel"), digest: try reader.key("copy"))
  }
}

// MARK: - Single values

extension Writer {
  @_lifetime(self: copy self)
  mutating func key<Kind>(_ key: ShortKey<Kind>) throws(WireError) {
    try u64(key.high)
    try u64(key.low)
  }

  @_lifetime(self: copy self)
  mutating func key(_ key: DeviceKey) throws(WireError) {
    for word in [key.first, key.second, key.third, key.fourth] { try u64(word) }
  }

  @_lifetime(self: copy self)
  mutating func time(_ value: Int64) throws(WireError) { try u64(UInt64(bitPattern: value)) }

  @_lifetime(self: copy self)
  mutating func number(_ value: Int) throws(WireError) {
    guard let value = UInt64(exactly: value) else { throw .invalidValue(field: "number") }
    try u64(value)
  }

  @_lifetime(self: copy self)
  mutating func fraction(_ value: Double) throws(WireError) { try u64(value.bitPattern) }

  @_lifetime(self: copy self)
  mutating func count8(_ value: Int) throws(WireError) {
    guard let value = UInt8(exactly: value) else { throw .limitExceeded(field: "count", limit: Int(UInt8.max)) }
    try u8(value)
  }
}

extension Reader {
  mutating func key<Kind>(_ field: StaticString) throws(WireError) -> ShortKey<Kind> {
    guard let key = ShortKey<Kind>(try bytes(16, field)) else { throw .invalidValue(field: field.description) }
    return key
  }

  mutating func device(_ field: StaticString) throws(WireError) -> DeviceKey {
    guard let key = DeviceKey(try bytes(32, field)) else { throw .invalidValue(field: field.description) }
    return key
  }

  mutating func time(_ field: StaticString) throws(WireError) -> Int64 { Int64(bitPattern: try u64(field)) }

  mutating func number(_ field: StaticString) throws(WireError) -> Int {
    guard let value = Int(exactly: try u64(field)) else { throw .invalidValue(field: field.description) }
    return value
  }

  /// Neither negative nor infinite.
  mutating func fraction(_ field: StaticString) throws(WireError) -> Double {
    let value = Double(bitPattern: try u64(field))
    guard value.isFinite, value.sign == .plus else { throw .invalidValue(field: field.description) }
    return value
  }

  mutating func count8(limit: Int, _ field: StaticString) throws(WireError) -> Int {
    let value = Int(try u8(field))
    guard value <= limit else { throw .limitExceeded(field: field.description, limit: limit) }
    return value
  }
}
