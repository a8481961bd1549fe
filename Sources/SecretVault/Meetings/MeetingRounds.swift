import Courier
import Sodium
import Synchronization
import VaultStore

extension Meetings {
  /// Meets peers until the task is cancelled: the daemon's part. `listen` returns the names of the peers that it hears in the room.
  package func runMeetings(listen: (@Sendable () async -> Set<String>)? = nil) async {
    let rounds = MeetingRounds(self)
    await withDiscardingTaskGroup { group in
      if let listen { group.addTask { await rounds.hear(listen) } }
      await rounds.run(&group)
      group.cancelAll()
    }
  }
}

/// Looks now and then at what waits, and lets ``MeetingSchedule`` decide who is met.
final class MeetingRounds: Sendable {
  /// How often it is checked whether the network has changed, or somebody's time has come.
  private static let glance = Duration.seconds(1)
  /// Milliseconds after which everything is looked at again in any case.
  private static let refreshment = 30_000.0
  /// Between two times of listening.
  private static let pause = Duration.seconds(20)

  private struct Survey: Sendable {
    var peers: [PeerRecord] = []
    var withAddress: Set<Digest> = []
    /// Parcels for peers themselves.
    var waiting: [Digest: Set<[UInt8]>] = [:]
    /// Peers for which some of them are own parcels.
    var withOwn: Set<Digest> = []
    /// Whether there is something for carriers.
    var hasCargo = false
    /// Peers for which there are receipts.
    var news: Set<Digest> = []
    /// Own parcels that carriers may get.
    var spreading: Set<[UInt8]> = []
    /// Whether shares wait for somebody.
    var hasDeliveries = false
  }

  private struct State: Sendable {
    var schedule = MeetingSchedule()
    var heard: Set<String> = []
    /// Who was heard before.
    var known: Set<String> = []
    /// Whether somebody is to be looked for at all.
    var hasReason = false
    var search = CarriedSearch()
  }

  private let room: Meetings
  private let state = Mutex(State())

  init(_ room: Meetings) { self.room = room }

  func run(_ group: inout DiscardingTaskGroup) async {
    var survey = Survey()
    var mark: ParcelMark?
    var changes = 0
    var refreshedAt = -Double.infinity
    var network = NetworkMark.now()
    while !Task.isCancelled {
      let seen = room.core.pulse.count
      let now = room.environment.monotonic()
      let newNetwork = NetworkMark.now()
      if newNetwork != network {
        network = newNetwork
        state.withLock { $0.schedule.networkChanged() }
      }
      do {
        let current = try room.database.parcelMark()
        let met = room.carrying.memory.changes
        if current != mark || met != changes || now - refreshedAt >= Self.refreshment {
          survey = try self.survey()
          (mark, changes, refreshedAt) = (current, met, now)
        }
        for peer in begin(survey, at: now) { group.addTask { [self] in await meet(peer) } }
      } catch {
        room.environment.log.error("what is to be carried can't be read: \(VaultError(error).reason)")
        do { try await room.environment.sleep(.seconds(60)) } catch { return }
      }
      do { try await room.core.wait(since: seen, atMost: Self.glance) } catch { return }
    }
  }

  /// Listens while there is something for anybody.
  func hear(_ listen: @Sendable () async -> Set<String>) async {
    while !Task.isCancelled {
      let heard = state.withLock { $0.hasReason } ? await listen() : []
      state.withLock { $0.heard = heard }
      do { try await room.environment.sleep(Self.pause) } catch { return }
    }
  }

  private func begin(_ survey: Survey, at now: Double) -> [PeerRecord] {
    let seen = survey.peers.map { (room.carrying.memory.seen($0.digest), room.carrying.memory.met($0.digest)) }
    let due = state.withLock { state in
      let situations = zip(survey.peers, seen).map { peer, times in
        MeetingSchedule.Situation(
          peer: peer.digest, waiting: survey.waiting[peer.digest] ?? [], hasOwn: survey.withOwn.contains(peer.digest),
          spreading: survey.spreading, mayCarry: survey.hasCargo, hasNews: survey.news.contains(peer.digest),
          isHeard: state.heard.contains(peer.name), hasAddress: survey.withAddress.contains(peer.digest),
          seenAt: times.0, metAt: times.1)
      }
      state.hasReason =
        survey.hasCargo || !survey.waiting.isEmpty || !survey.news.isEmpty || survey.hasDeliveries
      for peer in survey.peers where state.heard.contains(peer.name) && !state.known.contains(peer.name) {
        room.carrying.memory.noteReturned(peer.digest)
      }
      state.known = state.heard
      return state.schedule.begin(situations, at: now)
    }
    let chosen = Set(due)
    return survey.peers.filter { chosen.contains($0.digest) }
  }

  private func meet(_ peer: PeerRecord) async {
    var isDone = false
    do {
      _ = try await room.meet(peer)
      isDone = (try? isSomethingLeft(for: peer.digest)) == false
    } catch {
      room.environment.log.debug("\(peer.name) \(error.reason)")
    }
    let outcome = isDone
    state.withLock { $0.schedule.finished(peer.digest, isDone: outcome) }
  }

  /// Whether something still waits for a peer that was met.
  private func isSomethingLeft(for peer: Digest) throws -> Bool {
    let now = room.environment.now()
    if try room.post.outgoingRecords(way: .session, at: now).contains(where: { $0.peer == peer }) { return true }
    let carried = try room.carrying.readCourier().satchel.parcels.values.filter {
      $0.header.expiresAt > now && !$0.isHandedOver
    }
    var search = state.withLock { $0.search }
    return carried.contains { search.recipient(of: $0.header) == peer }
  }

  // MARK: - What there is

  private func survey() throws -> Survey {
    var survey = Survey()
    let now = room.environment.now()
    survey.peers = try room.database.peers()
    for peer in survey.peers {
      // A damaged card is reported elsewhere.
      if let recipient = try? room.directory.recipient(peer), !recipient.addresses.isEmpty {
        survey.withAddress.insert(peer.digest)
      }
    }
    survey.hasDeliveries = try room.database.hasWaitingDeliveries()
    let (own, spreading) = try room.post.outgoingRecordsOfMeetings(at: now)
    for record in own {
      survey.waiting[record.peer, default: []].insert(record.id.bytes)
      survey.withOwn.insert(record.peer)
    }
    survey.spreading = Set(spreading.map(\.id.bytes))
    survey.hasCargo = !survey.spreading.isEmpty
    let courier = try room.carrying.readCourier()
    for peer in survey.peers where courier.hasNews(for: try Carrying.device(peer.digest)) {
      survey.news.insert(peer.digest)
    }
    guard room.carrying.carryingLimits().isOn else { return survey }
    let carried = courier.satchel.parcels.values.filter { $0.header.expiresAt > now && !$0.isHandedOver }
    survey.hasCargo = survey.hasCargo || !carried.isEmpty
    var search = state.withLock { $0.search }
    search.begin(Set(survey.peers.map(\.digest)), carried.map(\.header))
    for header in carried.map(\.header) {
      guard let recipient = search.recipient(of: header) else { continue }
      survey.waiting[recipient, default: []].insert(header.copy.bytes)
    }
    state.withLock { [search] in $0.search = search }
    return survey
  }
}
