import Logging
import NetLink
import SecretVault
import Sodium
import Synchronization
import VaultProtocol
import VaultStore
import XMPPRequests

/// One connection of an account, and all that goes over it for as long as it lasts.
///
/// What comes is kept durably before its sender is told so, and what is to be sent lies in the vault until it is known
/// to have arrived: it may end at any moment.
final class AccountExchange: Sendable {
  let rooms: AccountRooms
  let account: AccountRecord
  let connection: XMPPConnection
  /// Answers requests itself, where no daemon does.
  let answers: Bool
  /// What other connections of this program have tried.
  let memory: SendingMemory
  let state: Mutex<State>
  /// One plain message after the other is compared with what is here, and kept.
  let keeping = Mutex(())

  /// Room for one parcel of a sender, as large as they are.
  static let strangerLimits = XMPPParcelCollector.Limits(
    bytes: 18 << 20, bytesOfSender: 9 << 20, parcelsOfSender: 8, parcels: 128)

  struct State {
    var collector = XMPPParcelCollector()
    /// Of those whose address nobody here knows: they have little room, and none of the others'.
    var strangers = XMPPParcelCollector(limits: AccountExchange.strangerLimits)
    /// Who is there with which device.
    var present: [JID: [String: XMPPPresence.State]] = [:]
    var isSending = false
    /// Bytes that were sent last before an answer was waited for.
    var underway = 0
    var report = AccountReport()
    var counted = AccountReport()
    /// Texts of strangers, who may ask to be friends in the next moment.
    var held: [HeldText] = []
    /// Marks of texts that were passed over and are counted, by this connection or by earlier ones, the latest last.
    var passed: [UInt64] = []
    /// Whether that is to be stored.
    var isPassedNews = false
    /// When something happened last.
    var lastAt: Double
    /// What has come is being dealt with.
    var isTaking = false
    /// What has to be done before a round is over.
    var isLookedThrough = false
    var isArchiveRead = false
    /// A peer may have asked something.
    var hasQuestions = false
    var areOthersLeft = false
    /// Plain messages that this connection has read from the archive.
    var archived: Set<[UInt8]> = []
    /// How many plain messages of a contact are here, by day.
    var plainDays: [String: [Int64: Int]] = [:]
    /// On which day it was said last that they are too many.
    var fullDays: [String: Int64] = [:]
  }

  struct HeldText {
    let message: XMPPMessage
    let isArchived: Bool

    var byteCount: Int { message.body.utf8.count + (message.subject?.utf8.count ?? 0) }
    /// By which it is known again.
    var names: [String] {
      [message.archiveID.map { "archive " + $0 }, message.id.map { "\(message.from.bare) \($0)" }].compactMap { $0 }
    }
  }

  private struct Limits {
    static let login = Duration.seconds(30)
    static let answer = Duration.seconds(30)
    /// Milliseconds between two looks at whether the server is there.
    static let alive = 60_000.0
    /// Between two looks at whether what was sent gets on.
    static let look = Duration.seconds(1)
    /// Bytes that may lie between a server's system and a server that reads slowly, and how many of them it reads in a
    /// millisecond at least. Some are set to take three.
    static let unread = (bytes: 128 << 10, pace: 2.0)
    /// Between two looks at whether the network is another one, and for an answer of the server then.
    static let network = (look: Duration.seconds(2), answer: Duration.seconds(10))
  }

  /// More than other programs have: some servers give what comes to the highest alone, and nobody else knows what to do
  /// with a parcel.
  private static let priority: Int8 = 100

  private init(
    _ rooms: AccountRooms, _ account: AccountRecord, _ connection: XMPPConnection, answers: Bool, memory: SendingMemory
  ) {
    self.rooms = rooms
    self.account = account
    self.connection = connection
    self.answers = answers
    self.memory = memory
    var state = State(lastAt: rooms.core.surroundings.monotonic())
    // Without them something is counted twice.
    state.passed = (try? rooms.accounts.passedTexts(account.id)) ?? []
    self.state = Mutex(state)
  }

  var sleep: @Sendable (Duration) async throws -> Void { rooms.core.surroundings.sleep }
  var log: Logger { rooms.core.surroundings.log }
  var now: Double { rooms.core.surroundings.monotonic() }

  /// Connects, logs in, takes the contacts and says that the account is there. `resource` is this device's name at the
  /// server.
  static func open(
    _ rooms: AccountRooms, _ account: AccountRecord, password: HeldSecret, resource: String?, answers: Bool,
    memory: SendingMemory = SendingMemory()
  ) async throws(XMPPError) -> AccountExchange {
    let sleep = rooms.core.surroundings.sleep
    let place = try account.place
    let connection = try await within(Limits.login, sleep) { () throws(XMPPError) in
      try await NetHelper.shared.connect(place, password: password.bytes, resource: resource)
    }
    let exchange = AccountExchange(rooms, account, connection, answers: answers, memory: memory)
    do {
      let before = (try? rooms.accounts.friendRecords(account.id)) ?? []
      let contacts = try await within(Limits.answer, sleep) { () throws(XMPPError) in try await connection.roster() }
      exchange.note { try rooms.accounts.keepRoster(account.id, contacts, since: before, stays: true) }
      // Those who are there say so anew.
      if !answers { exchange.note { try rooms.accounts.forgetPresence(account.id) } }
      try await within(Limits.answer, sleep) { () throws(XMPPError) in
        try await connection.announce(priority: Self.priority)
        // Of what other programs of the account say; a command reads that in the archive.
        if !answers { try await exchange.askForCopies() }
      }
    } catch {
      connection.close()
      throw error
    }
    return exchange
  }

  private func askForCopies() async throws(XMPPError) {
    do { try await connection.askForCopies() } catch .refused(let condition) {
      log.debug("\(account.logName): the server makes no copies: \(condition)")
    }
  }

  /// Works until the connection ends, or until the task is cancelled: then it says goodbye. Returns why it ended.
  func run() async -> XMPPError? {
    let work = Task { await self.work() }
    // Not cancelled with this one: goodbye is said over it.
    let coming = Task { await self.takeEvents() }
    return await withTaskCancellationHandler {
      let reason = await coming.value
      work.cancel()
      await work.value
      count()
      return reason
    } onCancel: {
      work.cancel()
      connection.logout()
    }
  }

  /// The same, but says goodbye when `end` returns, too.
  func run(until end: @escaping @Sendable () async -> Void) async -> XMPPError? {
    await withTaskGroup(of: XMPPError??.self) { tasks in
      tasks.addTask { .some(await self.run()) }
      tasks.addTask {
        await end()
        return nil
      }
      var reason: XMPPError?
      while let ended = await tasks.next() {
        if let ended { reason = ended }
        tasks.cancelAll()
      }
      return reason
    }
  }

  var report: AccountReport {
    var report = state.withLock { $0.report }
    report.passedOver = max(0, report.passedOver)
    return report
  }

  private func work() async {
    await withTaskGroup(of: Void.self) { tasks in
      tasks.addTask { await self.send() }
      tasks.addTask { await self.readWhatCame() }
      tasks.addTask { await self.keepAlive() }
    }
  }

  /// Notices a server that has gone without a word, and a network that has gone with it.
  private func keepAlive() async {
    var (network, next) = (NetworkMark.now(), now + Limits.alive)
    while (try? await sleep(Limits.network.look)) != nil {
      let isOther = NetworkMark.now() != network
      guard isOther || now >= next else { continue }
      // What is being sent waits for an answer of its own, as long as it gets on. The question would wait behind it,
      // and networks change also where nobody's way is concerned.
      if state.withLock({ $0.isSending }) { continue }
      (network, next) = (NetworkMark.now(), now + Limits.alive)
      do {
        try await reach(isOther ? Limits.network.answer : Limits.answer)
      } catch .cancelled { return } catch { return connection.close() }
    }
  }

  /// Waits for the server to have taken what was sent before: it answers in order.
  func reach(_ limit: Duration = Limits.answer) async throws(XMPPError) {
    let connection = connection
    do {
      try await patiently(limit) { () throws(XMPPError) in try await connection.ping() }
    } catch .refused {
      // It doesn't know this question, which is an answer.
    }
  }

  /// Runs what waits for the server as long as anything gets on its way, there or here, however slow it is: the answer
  /// comes behind all that the server has for this device. When nothing moves any more, it has the usual time, and a
  /// little for what lies there unread.
  func patiently<Value: Sendable>(
    _ limit: Duration = Limits.answer, _ body: @escaping @Sendable () async throws(XMPPError) -> Value
  ) async throws(XMPPError) -> Value {
    try await until({ try await self.standStill(limit) }, "nothing got on for \(limit)", body)
  }

  private func standStill(_ patience: Duration) async throws {
    var standstill = Standstill(await connection.progress(), at: now)
    while true {
      try await sleep(Limits.look)
      let unread = Double(min(state.withLock { $0.underway }, Limits.unread.bytes))
      let limit = patience / .milliseconds(1) + unread / Limits.unread.pace
      if standstill.time(await connection.progress(), at: now) >= limit { return }
    }
  }

  /// Counts with the account what has gone and come since it was counted last.
  func count() {
    let (now, before, passed) = state.withLock { state in
      let (before, passed) = (state.counted, state.isPassedNews ? state.passed : nil)
      state.counted = state.report
      state.isPassedNews = false
      return (state.report, before, passed)
    }
    note {
      try rooms.accounts.addAccountTraffic(
        account.id, now.traffic(since: before, at: rooms.core.surroundings.now()), passed: passed)
    }
  }

  /// What fails in the vault is said, and keeps nothing else from going on. Whether it didn't fail.
  @discardableResult
  func note(_ body: () throws -> Void) -> Bool {
    do {
      try body()
      return true
    } catch {
      log.error("\(account.logName): \(VaultError(error).reason)")
      return false
    }
  }

  func happened(_ change: (inout State) -> Void) {
    let now = now
    state.withLock { state in
      state.lastAt = now
      change(&state)
    }
  }
}

/// What went over an account's connection.
package struct AccountReport: Hashable, Sendable {
  /// Parcels that the server has taken, those that are carried for others included.
  package var parcelsSent = 0
  /// Parcels that came, are kept, and weren't here before.
  package var parcelsTaken = 0
  /// Plain messages that the server has taken.
  package var plainSent = 0
  /// Plain messages that came and are new.
  package var plainTaken = 0
  /// Bytes of parcels and plain messages that the server has taken.
  package var bytesSent = 0
  /// Bytes of those that came and are kept.
  package var bytesTaken = 0
  /// Plain messages that came and aren't kept: of strangers, of whoever was removed, or more than there is room for.
  package var passedOver = 0
  /// People who ask to be friends, and didn't before.
  package var friendRequests = 0
  /// Receipts for what was sent.
  package var receipts = 0

  package init() {}

  func traffic(since before: AccountReport, at now: Int64) -> AccountTraffic {
    var traffic = AccountTraffic(since: max(0, now))
    traffic.sent.parcels = Int64(parcelsSent - before.parcelsSent)
    traffic.sent.texts = Int64(plainSent - before.plainSent)
    traffic.sent.bytes = Int64(bytesSent - before.bytesSent)
    traffic.taken.parcels = Int64(parcelsTaken - before.parcelsTaken)
    traffic.taken.texts = Int64(plainTaken - before.plainTaken)
    traffic.taken.bytes = Int64(bytesTaken - before.bytesTaken)
    // Less than nothing, if one that was counted before is kept after all.
    traffic.passedOver = Int64(passedOver - before.passedOver)
    return traffic
  }
}

extension AccountRecord {
  /// What it is called in logs, which others may read and which stay when it is forgotten.
  var logName: String { "account " + hexadecimal(id.prefix(4)) }

  /// A name for this device at a server.
  static func freshResource() -> String { "vault-" + XMPPConnection.freshID().prefix(8) }

  /// Where and who it is, for a connection.
  var place: XMPPAccount {
    get throws(XMPPError) { try XMPPAccount(JID(address), host: host, port: port, certificates: certificates) }
  }
}
