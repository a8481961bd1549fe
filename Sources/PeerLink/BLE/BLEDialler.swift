public import PeerAuth

/// Finds peers in the room and connects to them, for all who want that at the same time: they share one search, as an adapter can't
/// connect while it looks for devices, and connects to one device after the other.
public actor BLEDialler {
  /// For how long it is looked for a peer.
  private let searchTime: Duration
  /// Milliseconds for which the place where a peer was last heard is tried before it is looked for anew.
  private static let memory: Int64 = 60_000
  /// Most places that are remembered.
  private static let memoryLimit = 256
  /// Time before a connection that failed for a passing reason is tried once more.
  private static let pause = Duration.milliseconds(500)

  private struct Seeker {
    let tags: Set<BeaconTag>
    let continuation: CheckedContinuation<Result<BLESighting, TransportError>, Never>
  }

  private let now: @Sendable () -> Int64
  private let equipment: @Sendable () throws(BLEError) -> BLEEquipment
  private let dial: @Sendable (BLESighting) async throws(TransportError) -> any PeerTransport
  private var seekers: [UInt64: Seeker] = [:]
  private var lastID: UInt64 = 0
  private var heard: [BeaconTag: (sighting: BLESighting, at: Int64)] = [:]
  private var scan: BLEScan?
  /// The end of the last search, which takes a moment.
  private var ending: Task<Void, Never>?
  /// Whether a search is about to begin.
  private var isStarting = false
  private var dialling = 0
  /// The last in the line of those who connect.
  private var last: Task<Void, Never>?

  /// A dialler. `now` gives milliseconds since 1970; `equipment` says what to look with, each time anew, and may wait.
  public init(
    searchTime: Duration = .seconds(12), now: @escaping @Sendable () -> Int64,
    equipment: @escaping @Sendable () throws(BLEError) -> BLEEquipment,
    dial: @escaping @Sendable (BLESighting) async throws(TransportError) -> any PeerTransport = {
      (sighting) async throws(TransportError) in
      try await BLEConnector().connect(sighting.address, by: sighting.adapter)
    }
  ) {
    self.searchTime = searchTime
    self.now = now
    self.equipment = equipment
    self.dial = dial
  }

  /// Connects to the device with this beacon key, if it is near.
  public func connect(_ key: BeaconKey) async throws(TransportError) -> any PeerTransport {
    let tags: Set<BeaconTag>
    do { tags = try key.tags(at: now()) } catch { throw .unreachable("its Bluetooth tag can't be computed") }
    if let known = remembered(tags) {
      do throws(TransportError) { return try await connect(to: known) } catch {
        heard[known.tag] = nil
        if error == .closed { throw error }
      }
    }
    let sighting: BLESighting
    do throws(TransportError) {
      sighting = try await withDeadline(searchTime, sleeper: { try await Task.sleep(for: $0) }) {
        [self] () async throws(TransportError) in
        try await search(tags)
      }
    } catch .timedOut {
      throw .unreachable("not heard over Bluetooth")
    }
    return try await connect(to: sighting)
  }

  private func remembered(_ tags: Set<BeaconTag>) -> BLESighting? {
    let time = now()
    return tags.compactMap { heard[$0] }.filter { (0..<Self.memory).contains(time - $0.at) }.max { $0.at < $1.at }?
      .sighting
  }

  // MARK: - Looking

  private func search(_ tags: Set<BeaconTag>) async throws(TransportError) -> BLESighting {
    lastID += 1
    let id = lastID
    let found = await withTaskCancellationHandler {
      await withCheckedContinuation {
        (continuation: CheckedContinuation<Result<BLESighting, TransportError>, Never>) in
        guard !Task.isCancelled else { return continuation.resume(returning: .failure(.closed)) }
        seekers[id] = Seeker(tags: tags, continuation: continuation)
        look()
      }
    } onCancel: {
      Task { await give(up: id) }
    }
    return try found.get()
  }

  private func give(up id: UInt64) async {
    seekers.removeValue(forKey: id)?.continuation.resume(returning: .failure(.closed))
    if seekers.isEmpty { await rest() }
  }

  /// Begins to look, if somebody is looked for and nobody is dialled.
  private func look() {
    guard scan == nil, !isStarting, dialling == 0, !seekers.isEmpty else { return }
    isStarting = true
    Task { await begin() }
  }

  private func begin() async {
    await ending?.value
    let found: Result<BLEEquipment, BLEError>
    do throws(BLEError) {
      let equipment = equipment
      found = .success(try await WaitingThread.run { () throws(BLEError) in try equipment() })
    } catch { found = .failure(error) }
    isStarting = false
    switch found {
    case .failure(let error): fail(error)
    case .success(let equipment):
      guard scan == nil, dialling == 0, !seekers.isEmpty else { return }
      scan = BLEScan(
        equipment, found: { sighting in Task { await self.saw(sighting) } },
        ended: { outcome in if case .failure(let error) = outcome { Task { await self.fail(error) } } })
      if scan == nil { fail(.failed("too many open files")) }
    }
  }

  /// Nobody can be found.
  private func fail(_ error: BLEError) {
    scan = nil
    let all = seekers
    seekers = [:]
    for seeker in all.values { seeker.continuation.resume(returning: .failure(error.unreachable)) }
  }

  private func saw(_ sighting: BLESighting) {
    let time = now()
    if heard.count >= Self.memoryLimit { heard = heard.filter { (0..<Self.memory).contains(time - $0.value.at) } }
    let isMeant = seekers.values.contains { $0.tags.contains(sighting.tag) }
    if isMeant || heard.count < Self.memoryLimit { heard[sighting.tag] = (sighting, time) }
    for (id, seeker) in seekers where seeker.tags.contains(sighting.tag) {
      seekers[id] = nil
      seeker.continuation.resume(returning: .success(sighting))
    }
    if seekers.isEmpty { Task { if seekers.isEmpty { await rest() } } }
  }

  /// Stops looking.
  private func rest() async {
    if let scan {
      self.scan = nil
      ending = Task { await scan.end() }
    }
    await ending?.value
    // Somebody may have come to look for a peer meanwhile.
    look()
  }

  // MARK: - Connecting

  /// Connects when it is its turn.
  private func connect(to sighting: BLESighting) async throws(TransportError) -> any PeerTransport {
    dialling += 1
    let before = last
    let work = Task { () async -> Result<any PeerTransport, TransportError> in
      await before?.value
      await self.rest()
      return await self.attempt(sighting)
    }
    last = Task { _ = await work.value }
    let outcome = await withTaskCancellationHandler {
      await work.value
    } onCancel: {
      work.cancel()
    }
    dialling -= 1
    look()
    return try outcome.get()
  }

  private func attempt(_ sighting: BLESighting) async -> Result<any PeerTransport, TransportError> {
    do throws(TransportError) {
      return .success(try await dial(sighting))
    } catch {
      // Both sides may have dialled in the same moment; then there is a link now, which carries this channel too.
      guard case .unreachable(let reason) = error, BLEReason.passing.map({ BLEReason.text($0) }).contains(reason) else {
        return .failure(error)
      }
    }
    do { try await Task.sleep(for: Self.pause) } catch { return .failure(.closed) }
    do throws(TransportError) { return .success(try await dial(sighting)) } catch { return .failure(error) }
  }
}
