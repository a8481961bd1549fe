package import WireCodec

/// The whole state: a version, then each part with its counts, all numbers big-endian, tables in the order of their
/// keys. What can be worked out isn't written. Byte by byte in `docs/formats/store.md`.
///
/// Reading believes nothing: what no device could have come to is refused.
extension Courier: WireValue {
  package static let byteLimit = 16 << 20
  static let version: UInt8 = 4
  /// Before this, headers don't say whether a parcel may be left at servers: none may.
  static let serverVersion: UInt8 = 2
  /// Before this, nothing tells how often a parcel has gone out to a carrier, and whether that has it: once, as far as
  /// anybody knows, and nobody has said so.
  static let grantVersion: UInt8 = 3
  /// Before this, parcels have ids alone: what their bytes hash to isn't known (see ``unnamed``), and which ids were
  /// carried is worth nothing, as anything may have been under them.
  static let copyVersion: UInt8 = 4

  package var encodedByteCount: Int {
    1 + 32 + CourierPolicy.encodedByteCount + limits.encodedByteCount + CarryingAccount.encodedByteCount
      + satchel.encodedByteCount + 4 + outgoing.values.reduce(0) { $0 + $1.encodedByteCount }
      + receipts.encodedByteCount + encounters.encodedByteCount + records.encodedByteCount
      + carried.encodedByteCount + received.encodedByteCount
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    guard encodedByteCount <= Self.byteLimit else { throw .limitExceeded(field: "courier", limit: Self.byteLimit) }
    try writer.u8(Self.version)
    try writer.key(own)
    try policy.encode(into: &writer)
    try limits.encode(into: &writer)
    try account.encode(into: &writer)
    try satchel.encode(into: &writer)
    try writer.count32(outgoing.count)
    for parcel in outgoing.values.sorted(by: { $0.header.id < $1.header.id }) { try parcel.encode(into: &writer) }
    try receipts.encode(into: &writer)
    try encounters.encode(into: &writer)
    try records.encode(into: &writer)
    try carried.encode(into: &writer)
    try received.encode(into: &writer)
  }

  package init(from reader: inout Reader) throws(WireError) {
    let version = try reader.u8("version")
    guard (1...Self.version).contains(version) else { throw .invalidValue(field: "version") }
    let own = try reader.device("own")
    self.init(own: own, policy: try CourierPolicy(from: &reader), limits: try CarryingLimits(from: &reader))
    account = try CarryingAccount(from: &reader)
    satchel = try Satchel(from: &reader, version)
    var last: ParcelKey?
    for _ in 0..<(try reader.count32(limit: Self.outgoingLimit, "parcels on their way")) {
      let parcel = try OutgoingParcel(from: &reader, version)
      try ascend(parcel.header.id, &last)
      outgoing[parcel.header.id] = parcel
    }
    receipts = try ReceiptBook(from: &reader)
    receipts.own = own
    encounters = try Encounters(from: &reader)
    records = try CarrierRecords(from: &reader)
    if version >= Self.copyVersion {
      carried = try SeenParcels(from: &reader)
    } else {
      _ = try SeenParcels<ParcelKey>(from: &reader)
    }
    received = try SeenParcels(from: &reader)
    let isOwnAmongOthers =
      encounters.entries[own] != nil || satchel.parcels.values.contains { $0.from == own }
      || outgoing.values.contains { $0.recipient == own }
    guard !isOwnAmongOthers else { throw .invalidValue(field: "this device among others") }
  }
}

func ascend<Key: Comparable>(_ key: Key, _ last: inout Key?) throws(WireError) {
  if let before = last, before >= key { throw .invalidValue(field: "order of keys") }
  last = key
}

// MARK: - Parcels

extension ParcelHeader {
  static let encodedByteCount = 16 + 16 + 16 + 4 + 8 + 1 + 1 + 1

  func encode(into writer: inout Writer) throws(WireError) {
    try copy.encode(into: &writer)
    try writer.key(tag)
    try writer.count32(size)
    try writer.time(expiresAt)
    try writer.u8(hopsLeft)
    try writer.u8(branch)
    try writer.flag(allowsServers)
  }

  init(from reader: inout Reader, _ version: UInt8) throws(WireError) {
    let copy = version >= Courier.copyVersion ? try CopyKey(from: &reader) : .unnamed(try reader.key("parcel"))
    guard
      let header = ParcelHeader(
        copy: copy, tag: try reader.key("tag"), size: try reader.count32(limit: Self.sizeLimit, "size"),
        expiresAt: try reader.time("expiry"), hopsLeft: try reader.u8("hops"), branch: try reader.u8("branch"),
        allowsServers: version >= Courier.serverVersion ? try reader.flag("servers") : false)
    else { throw .invalidValue(field: "header of a parcel") }
    self = header
  }
}

extension OutgoingParcel {
  var encodedByteCount: Int { ParcelHeader.encodedByteCount + 32 + 8 + 1 + Grant.encodedByteCount * carriers.count + 1 }

  func encode(into writer: inout Writer) throws(WireError) {
    try header.encode(into: &writer)
    try writer.key(recipient)
    try writer.time(createdAt)
    try writer.count8(carriers.count)
    for grant in carriers { try grant.encode(into: &writer) }
    try writer.flag(isDeposited)
  }

  init(from reader: inout Reader, _ version: UInt8) throws(WireError) {
    let header = try ParcelHeader(from: &reader, version)
    guard header.branch == ParcelHeader.noBranch else { throw .invalidValue(field: "branch") }
    self.init(header: header, recipient: try reader.device("recipient"), createdAt: try reader.time("creation"))
    for _ in 0..<(try reader.count8(limit: ParcelHeader.branchLimit, "carriers")) {
      let grant = try Grant(from: &reader, version)
      guard !carriers.contains(where: { $0.carrier == grant.carrier }) else { throw .invalidValue(field: "carriers") }
      carriers.append(grant)
    }
    isDeposited = try reader.flag("deposited")
  }
}

extension OutgoingParcel.Grant {
  static let encodedByteCount = 32 + 8 + 1 + 1

  func encode(into writer: inout Writer) throws(WireError) {
    try writer.key(carrier)
    try writer.time(at)
    try writer.count8(times)
    try writer.flag(isConfirmed)
  }

  init(from reader: inout Reader, _ version: UInt8) throws(WireError) {
    self.init(carrier: try reader.device("carrier"), at: try reader.time("grant"))
    guard version >= Courier.grantVersion else { return }
    times = try reader.count8(limit: Self.limit, "times")
    guard times > 0 else { throw .invalidValue(field: "times") }
    isConfirmed = try reader.flag("confirmed")
  }
}

extension CarriedParcel {
  var encodedByteCount: Int { ParcelHeader.encodedByteCount + 32 + 1 + 8 + 1 + 32 * handedTo.count + 1 + 1 }

  func encode(into writer: inout Writer) throws(WireError) {
    try header.encode(into: &writer)
    try writer.key(from)
    try writer.flag(fromPeer)
    try writer.time(receivedAt)
    try writer.count8(handedTo.count)
    for device in handedTo { try writer.key(device) }
    try writer.flag(isDeposited)
    try writer.flag(isHandedOver)
  }

  init(from reader: inout Reader, _ version: UInt8) throws(WireError) {
    self.init(
      header: try ParcelHeader(from: &reader, version), from: try reader.device("giver"),
      fromPeer: try reader.flag("peer"), receivedAt: try reader.time("receipt"))
    for _ in 0..<(try reader.count8(limit: CourierPolicy.handOnLimit, "devices")) {
      let device = try reader.device("device")
      guard device != from, !handedTo.contains(device) else { throw .invalidValue(field: "devices") }
      handedTo.append(device)
    }
    isDeposited = try reader.flag("deposited")
    isHandedOver = try reader.flag("handed over")
  }
}

extension Satchel {
  /// Most parcels that are read. Within limits that don't change there are at most ``CarryingLimits/parcelLimit``.
  static let readLimit = 1 << 15

  var encodedByteCount: Int {
    4 + parcels.values.reduce(0) { $0 + $1.encodedByteCount + 8 } + 4 + 32 * strangers.count
  }

  func encode(into writer: inout Writer) throws(WireError) {
    guard parcels.count <= Self.readLimit else { throw .limitExceeded(field: "satchel", limit: Self.readLimit) }
    try writer.count32(parcels.count)
    for parcel in parcels.values.sorted(by: { $0.header.copy < $1.header.copy }) {
      try parcel.encode(into: &writer)
      try writer.number(costByParcel[parcel.header.copy] ?? 0)
    }
    try writer.count32(strangers.count)
    for stranger in strangers.sorted() { try writer.key(stranger) }
  }

  init(from reader: inout Reader, _ version: UInt8) throws(WireError) {
    self.init()
    var last: CopyKey?
    for _ in 0..<(try reader.count32(limit: Self.readLimit, "satchel")) {
      let parcel = try CarriedParcel(from: &reader, version)
      try ascend(parcel.header.copy, &last)
      let cost = try reader.number("cost")
      let (sum, overflow) = self.cost.addingReportingOverflow(cost)
      guard cost >= parcel.header.size, !overflow, sum <= 2 * CarryingLimits.roomLimit else {
        throw .invalidValue(field: "cost")
      }
      self.cost = sum
      put(parcel)
      costByParcel[parcel.header.copy] = cost
      costs[parcel.from, default: 0] += cost
    }
    var lastDevice: DeviceKey?
    for _ in 0..<(try reader.count32(limit: Self.readLimit, "strangers")) {
      let stranger = try reader.device("stranger")
      try ascend(stranger, &lastDevice)
      guard let cost = costs[stranger] else { throw .invalidValue(field: "stranger") }
      strangers.insert(stranger)
      strangerCost += cost
    }
    guard parcels.values.allSatisfy({ $0.fromPeer || strangers.contains($0.from) }) else {
      throw .invalidValue(field: "strangers")
    }
  }
}
