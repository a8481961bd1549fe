import HTTPTypes
import Hummingbird
import NIOCore
import Sodium
import Synchronization

struct RequestGate: Sendable {
  static let recipients = HTTPField.Name.recipientsOfShare

  private let addresses: RateLimiter<ClientAddress>
  private let keys: RateLimiter<[UInt8]>
  private let groups: RateLimiter<ClientAddress>
  private let proxies: Set<ExactAddress>
  /// A hash of what has to be known to make a group. Nil: anybody may.
  private let creation: Digest?

  init(_ limits: ServerLimits, proxies: Set<ExactAddress>, creation: Digest?) {
    addresses = RateLimiter(rate: Double(limits.addressRate), burst: Double(2 * limits.addressRate))
    keys = RateLimiter(rate: Double(limits.keyRate), burst: Double(2 * limits.keyRate))
    groups = RateLimiter(rate: Double(limits.groupsPerDay) / 86_400, burst: Double(limits.groupsPerDay))
    self.proxies = proxies
    self.creation = creation
  }

  /// Where a request comes from: what a proxy of the operator's says, or else the other end of the connection.
  func address(of request: Request, _ context: ServiceContext) -> ClientAddress? {
    let direct = ClientAddress(context.channel.remoteAddress)
    guard let exact = ExactAddress(context.channel.remoteAddress), proxies.contains(exact),
      let field = request.headers[values: .forwardedFor].last,
      let last = field.split(separator: ",").last
    else { return direct }
    return ClientAddress(text: last.filter { $0 != " " }) ?? direct
  }

  func admit(_ address: ClientAddress?, at now: Int64) throws(Refusal) {
    guard let address, let wait = addresses.take(address, at: now) else { return }
    throw .rate(Self.seconds(wait))
  }

  func admitGroup(_ address: ClientAddress?, at now: Int64) throws(Refusal) {
    guard let address, let wait = groups.take(address.site, at: now) else { return }
    throw .rate(Self.seconds(wait))
  }

  private static func seconds(_ wait: Double) -> Int { max(1, Int(min(wait, 86_400).rounded(.up))) }

  /// Whose key a request brings.
  ///
  /// The field's value is in memory of swift-http-types and of the parser, which don't wipe it. Here it is read where
  /// it lies, without another copy, decoded into secret memory and hashed; nothing else of the service sees it.
  func caller(_ request: Request, _ group: Identifier, _ store: any ShareStore) async throws -> Caller {
    guard let key = try Self.key(request) else { throw Refusal.unauthorized }
    let caller = try await store.caller(key, group: group)
    if let wait = keys.take(caller.tag, at: store.clock.now) { throw Refusal.rate(Self.seconds(wait)) }
    return caller
  }

  private static func key(_ request: Request) throws -> ServerKey? {
    let fields = request.headers[fields: .authorization]
    guard fields.count == 1, let field = fields.first else { return nil }
    var key: ServerKey?
    try field.withUnsafeBytesOfValue { key = try ServerKey.parse(authorization: UnsafeRawBufferPointer($0)) }
    return key
  }

  func checkCreation(_ request: Request) throws {
    guard let creation else { return }
    let fields = request.headers[fields: .authorization]
    guard fields.count == 1, let field = fields.first else { throw Refusal.unauthorized }
    let found = try field.withUnsafeBytesOfValue { value -> Digest? in
      guard let token = ServerKey.bearerToken(UnsafeRawBufferPointer(value)) else { return nil }
      return try Self.digest(creationToken: token.bytes)
    }
    guard let found, found.matches(creation.bytes) else { throw Refusal.unauthorized }
  }

  static func digest(creationToken: RawSpan) throws(SodiumError) -> Digest {
    var hash = try DomainHash("vault/server-creation/v1")
    hash.append(creationToken)
    return hash.digest()
  }
}

extension HTTPField.Name {
  // Both are names as HTTP has them, so neither is ever nil.
  fileprivate static let recipientsOfShare = HTTPField.Name("Recipients") ?? .contentType
  fileprivate static let forwardedFor = HTTPField.Name("X-Forwarded-For") ?? .contentType
}

final class ReservationBox: Sendable {
  private let share = Mutex<MemoryBudget.Share?>(nil)

  func set(_ new: MemoryBudget.Share) { share.withLock { $0 = new } }
  func take() -> MemoryBudget.Share? { share.withLock { $0.take() } }
}
