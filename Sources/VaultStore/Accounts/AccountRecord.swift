package import Sodium
package import WireCodec

/// An account on a server that passes messages on. Its password lies beside it.
package struct AccountRecord: WireValue, Hashable, Sendable {
  package static let idByteCount = 16
  package static let addressByteLimit = 2047
  package static let nameByteLimit = 1023
  package static let pathByteLimit = 4096
  package static let placeByteLimit = 1024
  package static let limit = 64
  static let byteLimit = 16_000

  /// Names it here: 16 bytes.
  package let id: [UInt8]
  package let address: String
  /// The server to connect to, if that can't be found from the address.
  package var host: String?
  /// The server's port, if that can't be found from the address.
  package var port: UInt16?
  /// The file with the certificates that the server is believed by, if not those of the system.
  package var certificates: String?
  /// What this device is called at the server.
  package var resource: String
  package var isCurrent: Bool
  /// Up to where the server's archive has been read.
  package var archivedTo: String?

  package init(
    id: [UInt8], address: String, host: String? = nil, port: UInt16? = nil, certificates: String? = nil,
    resource: String, isCurrent: Bool, archivedTo: String? = nil
  ) {
    self.id = id
    self.address = address
    self.host = host
    self.port = port
    self.certificates = certificates
    self.resource = resource
    self.isCurrent = isCurrent
    self.archivedTo = archivedTo
  }

  func check() throws(StoreError) {
    let isSound =
      id.count == Self.idByteCount && isStorable(address, Self.addressByteLimit) && !address.isEmpty
      && isStorable(host, Self.nameByteLimit) && isStorable(certificates, Self.pathByteLimit)
      && isStorable(resource, Self.nameByteLimit) && isStorable(archivedTo, Self.placeByteLimit)
    guard isSound else { throw .invalid("an account") }
  }
}

/// Somebody whom an account knows.
package struct FriendRecord: WireValue, Hashable, Sendable {
  /// Who of the two is told when the other is there.
  package enum Subscription: UInt8, Hashable, Sendable, CaseIterable {
    /// Nobody.
    case none = 0
    /// This device is told of the friend.
    case to = 1
    /// The friend is told of this device.
    case from = 2
    case both = 3
    /// Nobody, and nothing of it is wanted here.
    case blocked = 4
  }

  package static let nameByteLimit = 1023
  package static let presenceByteLimit = 32
  package static let limit = 4096
  static let byteLimit = 8000

  /// The account that knows it, 16 bytes.
  package let account: [UInt8]
  package let address: String
  /// What the user calls it.
  package var name: String?
  package var subscription: Subscription
  /// Whether it asks to be told of this device.
  package var asks: Bool
  package var peer: Digest?
  /// Whether it is there, in the caller's words; nil if it isn't.
  package var presence: String?
  /// When that was heard.
  package var presenceAt: Int64

  package init(
    account: [UInt8], address: String, name: String? = nil, subscription: Subscription = .none, asks: Bool = false,
    peer: Digest? = nil, presence: String? = nil, presenceAt: Int64 = 0
  ) {
    self.account = account
    self.address = address
    self.name = name
    self.subscription = subscription
    self.asks = asks
    self.peer = peer
    self.presence = presence
    self.presenceAt = presenceAt
  }

  func isOf(_ account: [UInt8], _ address: String) -> Bool { self.account == account && self.address == address }

  func check() throws(StoreError) {
    let isSound =
      account.count == AccountRecord.idByteCount && isStorable(address, AccountRecord.addressByteLimit)
      && !address.isEmpty && isStorable(name, Self.nameByteLimit) && isStorable(presence, Self.presenceByteLimit)
    guard isSound else { throw .invalid("a friend") }
  }
}

private func isStorable(_ text: String?, _ limit: Int) -> Bool {
  guard let text else { return true }
  return text.utf8.count <= limit && !text.utf8.contains(0)
}

// MARK: - Encoding

extension AccountRecord {
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(1)
    try writer.bytes(id)
    try writer.text16(address)
    try writer.optionalText(host)
    try writer.flag(port != nil)
    if let port { try writer.u16(port) }
    try writer.optionalText(certificates)
    try writer.text16(resource)
    try writer.flag(isCurrent)
    try writer.optionalText(archivedTo)
  }

  package init(from reader: inout Reader) throws(WireError) {
    guard try reader.u8("version") == 1 else { throw .invalidValue(field: "version") }
    id = try reader.bytes(Self.idByteCount, "id")
    address = try reader.text16(limit: Self.addressByteLimit, "address")
    host = try reader.optionalText(limit: Self.nameByteLimit, "host")
    port = try reader.flag("port") ? try reader.u16("port") : nil
    certificates = try reader.optionalText(limit: Self.pathByteLimit, "certificates")
    resource = try reader.text16(limit: Self.nameByteLimit, "resource")
    isCurrent = try reader.flag("current")
    archivedTo = try reader.optionalText(limit: Self.placeByteLimit, "archive")
  }
}

extension FriendRecord {
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(1)
    try writer.bytes(account)
    try writer.text16(address)
    try writer.optionalText(name)
    try writer.u8(subscription.rawValue)
    try writer.flag(asks)
    try writer.optionalDigest(peer)
    try writer.optionalText(presence)
    try writer.signed(presenceAt)
  }

  package init(from reader: inout Reader) throws(WireError) {
    guard try reader.u8("version") == 1 else { throw .invalidValue(field: "version") }
    account = try reader.bytes(AccountRecord.idByteCount, "account")
    address = try reader.text16(limit: AccountRecord.addressByteLimit, "address")
    name = try reader.optionalText(limit: Self.nameByteLimit, "name")
    guard let subscription = Subscription(rawValue: try reader.u8("subscription")) else {
      throw .invalidValue(field: "subscription")
    }
    self.subscription = subscription
    asks = try reader.flag("asks")
    peer = try reader.optionalDigest("peer")
    presence = try reader.optionalText(limit: Self.presenceByteLimit, "presence")
    presenceAt = try reader.signed("presence")
  }
}
