import Concurrency
package import PeerAuth

/// Finds peers in the room and connects to them, for all who want that at the same time. They share one search; and as
/// an adapter can't connect while it looks for devices, the air is used by the search or by one who connects, one after
/// the other. Whoever gives up waits for nobody.
package actor BLEDialler {
  package struct Times: Sendable {
    /// Looking for a peer. What passes while others connect doesn't count.
    package var search = Duration.seconds(12)
    /// Connecting while others wait for the air.
    package var turn = Duration.seconds(6)
    /// Within this a connection must have failed to be tried once more at once: what takes longer was no collision.
    package var collision = Duration.seconds(3)
    /// Looking for somebody else with the same tag before an address is taken that led to no session the last time.
    package var doubt = Duration.seconds(4)
    package var handshake = Duration.seconds(15)
    package init() {}
  }

  /// Time before a connection that failed for a passing reason is tried once more.
  private static let pause = Duration.milliseconds(500)
  private static let glance = Duration.milliseconds(50)

  struct Seeker {
    let tags: Set<BeaconTag>
    var left: Duration
    /// What was heard, but is doubted: since when, and for how long somebody else is looked for.
    var reserve: (sighting: BLESighting, since: Int64)?
    var doubtLeft: Duration
    let continuation: CheckedContinuation<Result<BLESighting, TransportError>, Never>
  }

  private let times: Times
  private let time: BLETime
  private let now: @Sendable () -> Int64
  private let equipment: @Sendable (BLEAdapterChoice) throws(BLEError) -> BLEEquipment
  private let dial: @Sendable (BLESighting) async throws(TransportError) -> any PeerTransport
  private(set) var seekers: [UInt64: Seeker] = [:]
  private var lastID: UInt64 = 0
  private let places: BLEPlaces
  /// Passed by a search, or by one who connects.
  private let air = Gate()
  private var isLooking = false
  /// The search that nobody has ended yet.
  private var scan: BLEScan?
  private(set) var dialling = 0
  private var choice = BLEAdapterChoice.all

  /// `now` gives milliseconds since 1970, `time` what it waits by; `equipment` says what to look with by the adapters
  /// that are chosen, each time anew, and may wait; `dial` is prompt when its task is cancelled.
  package init(
    times: Times = Times(), time: BLETime = .machine, now: @escaping @Sendable () -> Int64,
    equipment: @escaping @Sendable (BLEAdapterChoice) throws(BLEError) -> BLEEquipment = {
      (choice) throws(BLEError) in
      try BLEEquipment.find(choice)
    },
    dial: @escaping @Sendable (BLESighting) async throws(TransportError) -> any PeerTransport = {
      (sighting) async throws(TransportError) in
      try await BLEConnector().connect(sighting.address, by: sighting.adapter)
    }
  ) {
    self.times = times
    self.time = time
    self.now = now
    places = BLEPlaces(now: now)
    self.equipment = equipment
    self.dial = dial
  }

  /// Connects to the device with this beacon key, if it is near, by the adapters that are chosen; whoever says others
  /// has everybody use those.
  ///
  /// The connection has to hear that it has reached the peer, or is closed: then somebody else was there, and whoever
  /// asks next is led elsewhere if there is an elsewhere. Throws `.closed` at once when the task is cancelled.
  package func connect(
    _ key: BeaconKey, by choice: BLEAdapterChoice
  ) async throws(TransportError) -> any PeerTransport {
    let tags: Set<BeaconTag>
    do { tags = try key.tags(at: now()) } catch { throw .unreachable("its Bluetooth tag can't be computed") }
    use(choice)
    let first: BLESighting
    if let known = places.last(tags) { first = known } else { first = try await search(tags) }
    do throws(TransportError) { return try await connect(to: first) } catch {
      if error == .closed { throw error }
    }
    // Somebody else may show the same tag; the same device may have moved on, or have been slow while others waited.
    return try await connect(to: try await search(tags))
  }

  private func use(_ choice: BLEAdapterChoice) {
    guard choice != self.choice else { return }
    self.choice = choice
    places.forgetHeard()
    endSearch()
  }

  // MARK: - Looking

  private func search(_ tags: Set<BeaconTag>) async throws(TransportError) -> BLESighting {
    lastID += 1
    let id = lastID
    let found = await withTaskCancellationHandler {
      await withCheckedContinuation {
        (continuation: CheckedContinuation<Result<BLESighting, TransportError>, Never>) in
        guard !Task.isCancelled else { return continuation.resume(returning: .failure(.closed)) }
        seekers[id] = Seeker(tags: tags, left: times.search, doubtLeft: times.doubt, continuation: continuation)
        look()
      }
    } onCancel: {
      Task { await settle(id, .failure(.closed)) }
    }
    return try found.get()
  }

  private func settle(_ id: UInt64, _ result: Result<BLESighting, TransportError>) {
    seekers.removeValue(forKey: id)?.continuation.resume(returning: result)
    rest()
  }

  private func look() {
    guard !isLooking, dialling == 0, !seekers.isEmpty else { return }
    isLooking = true
    Task {
      do throws(BLEError) { try await lookOnce() } catch { fail(error) }
      isLooking = false
      look()
    }
  }

  private func lookOnce() async throws(BLEError) {
    let (equipment, choice) = (equipment, choice)
    let found = try await WaitingThread.run { () throws(BLEError) in try equipment(choice) }
    guard await air.enter() else { return }
    defer { air.leave() }
    guard dialling == 0, !seekers.isEmpty, choice == self.choice else { return }
    var counting: Task<Void, Never>?
    let outcome = await withCheckedContinuation { (end: CheckedContinuation<Result<Void, BLEError>, Never>) in
      let scan = BLEScan(
        found, found: { sighting in Task { await self.saw(sighting) } }, ended: { end.resume(returning: $0) })
      guard let scan else { return end.resume(returning: .failure(.outOfResources)) }
      self.scan = scan
      counting = Task { await count(during: scan) }
    }
    scan = nil
    counting?.cancel()
    try outcome.get()
  }

  /// Has the search end, if there is no use for it, or a better one for the air.
  private func rest() {
    if seekers.isEmpty || dialling > 0 { endSearch() }
  }

  private func endSearch() {
    guard let scan else { return }
    self.scan = nil
    Task { await scan.end() }
  }

  private func fail(_ error: BLEError) {
    for id in seekers.keys { settle(id, .failure(error.unreachable)) }
  }

  /// Lets the time of those who look go by, while it is looked.
  private func count(during search: BLEScan) async {
    var last = time.passed()
    while scan === search {
      try? await time.sleep(Self.glance)
      guard scan === search else { return }
      let now = time.passed()
      pass(now - last)
      last = now
    }
  }

  private func pass(_ time: Duration) {
    for (id, seeker) in seekers {
      var seeker = seeker
      seeker.left -= time
      if seeker.reserve != nil { seeker.doubtLeft -= time }
      seekers[id] = seeker
      if let reserve = seeker.reserve, min(seeker.left, seeker.doubtLeft) <= .zero {
        settle(id, .success(reserve.sighting))
      } else if seeker.left <= .zero {
        settle(id, .failure(.unreachable("not heard over Bluetooth")))
      }
    }
  }

  private func saw(_ sighting: BLESighting) {
    guard choice.includes(sighting.adapter) else { return }
    let isMeant = seekers.values.contains { $0.tags.contains(sighting.tag) }
    let doubt = places.hear(sighting, isMeant: isMeant)
    for (id, seeker) in seekers where seeker.tags.contains(sighting.tag) {
      guard let doubt else {
        settle(id, .success(sighting))
        continue
      }
      // Of several that are doubted the one that failed longest ago.
      if doubt < seeker.reserve?.since ?? .max { seekers[id]?.reserve = (sighting, doubt) }
    }
  }

  // MARK: - Connecting

  private func connect(to sighting: BLESighting) async throws(TransportError) -> any PeerTransport {
    dialling += 1
    defer {
      dialling -= 1
      look()
    }
    rest()
    do throws(TransportError) {
      guard await air.enter() else { throw TransportError.closed }
      defer { air.leave() }
      let transport = try await withDeadline(times.turn, sleeper: { [self] in try await turn(lasts: $0) }) {
        [self] () async throws(TransportError) in try await attempt(sighting)
      }
      return DialledTransport(transport, within: times.handshake, time) { [places] isPeer in
        places.dialled(sighting, isPeer: isPeer)
      }
    } catch {
      if error != .closed { places.dialled(sighting, isPeer: false) }
      throw error
    }
  }

  /// Returns when whoever connects has had its turn and somebody else needs the air.
  private func turn(lasts duration: Duration) async throws {
    try await time.sleep(duration)
    while dialling < 2, seekers.isEmpty { try await time.sleep(Self.glance) }
  }

  private func attempt(_ sighting: BLESighting) async throws(TransportError) -> any PeerTransport {
    let began = time.passed()
    do throws(TransportError) { return try await dial(sighting) } catch {
      // Both sides may have dialled in the same moment; then there is a link now, which carries this channel too.
      guard case .unreachable(let reason) = error, BLEReason.passing.map({ BLEReason.text($0) }).contains(reason),
        time.passed() - began < times.collision
      else { throw error }
    }
    do { try await time.sleep(Self.pause) } catch { throw .closed }
    return try await dial(sighting)
  }
}
