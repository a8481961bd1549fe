import Courier
import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault
@testable import VaultXMPP

extension Person {
  /// Gives a carrier what waits for carriers here, as in a meeting.
  func hand(to carrier: Person) throws {
    let (own, other) = (try vault.carrying.ownDevice(), try carrier.vault.carrying.ownDevice())
    let now = vault.core.surroundings.now()
    for one in try vault.post.outgoingParcels(way: .carriers) {
      let copy = try CourierDesk.copy(of: Parcel.decode(one.post.bytes, limit: Parcel.byteLimit))
      let tag = try #require(RecipientTag(one.post.tag))
      let recipient = try Carrying.device(one.recipient)
      let header = try vault.carrying.changeCourier { courier, _ in
        _ = courier.send(
          copy, tag: tag, size: one.post.bytes.count, expiresAt: one.post.expiresAt, to: recipient,
          allowsServers: one.record.ways.hasServers, at: now)
        let offers = courier.offers(
          to: other, CarrierGreeting(copies: [], takes: true), DeviceCondition(), isTheirs: { _ in false }, at: now)
        let header = offers.first { $0.header.copy == copy }?.header
        if let header { courier.gave(header, to: other, isTheirs: false, at: now) }
        return header
      }
      guard let header else { continue }
      let arrival = try carrier.vault.carrying.changeCourier { (courier, contents) throws(StoreError) in
        let arrival = courier.took(header, from: own, isPeer: true, isMine: false, at: now)
        if case .carried = arrival { try contents.put(copy, one.post.bytes) }
        return arrival
      }
      #expect(arrival == .carried(evicted: []))
    }
  }

  /// What it moves for others counts as the same day's from now on, also if midnight comes: that of a clock which was a day ahead.
  func outlastMidnight() throws {
    let tomorrow = vault.core.surroundings.now() + 86_400_000
    try vault.carrying.changeCourier { courier, _ in courier.movedInVain(1, at: tomorrow) }
  }

  /// Whether the server has all that goes by it, receipts for so many parcels among it: they are owed a moment after what they are for can be seen.
  func hasSentAll(receipts count: Int64) throws -> Bool {
    let account = try #require(try vault.accounts.currentAccount())
    return try vault.accounts.accountTraffic(account.id)?.taken.parcels ?? 0 >= count
      && vault.post.parcelMemory.owed.isEmpty
      && vault.post.outgoingRecords(way: .account, at: vault.core.surroundings.now()).isEmpty
  }

  /// The bytes of each parcel that is carried for others.
  func carriedSizes() throws -> [Int] { try vault.carrying.readCourier().satchel.parcels.values.map(\.header.size) }

  /// How many parcels of others could still be left at a server.
  func waitingForServers() throws -> Int {
    var search = CarriedSearch()
    return try vault.meetings.carriedForAccounts(&search).count
  }
}

extension Person {
  /// Keeps one connection of the account while `body` runs, with what others of the same program have tried.
  func exchanging(
    _ memory: SendingMemory = SendingMemory(), _ body: (AccountExchange) async throws -> Void
  ) async throws {
    let (account, password) = try credentials()
    let exchange = try await AccountExchange.open(
      AccountRooms(vault), account, password: password, resource: account.resource, answers: false, memory: memory)
    let task = Task { await exchange.run() }
    let result: Result<Void, any Error>
    do { result = .success(try await body(exchange)) } catch { result = .failure(error) }
    task.cancel()
    _ = await task.value
    try result.get()
  }

  private func credentials() throws -> (AccountRecord, HeldSecret) {
    let account = try #require(try vault.accounts.currentAccount())
    return (account, try #require(try vault.accounts.accountPassword(account.id)))
  }
}

extension AccountExchange {
  /// Whether it has looked for what is to be sent, and into the archive.
  var hasLookedForBoth: Bool { state.withLock { $0.isLookedThrough && $0.isArchiveRead } }
}
