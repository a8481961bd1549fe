package import Gathering
package import PeerAuth

/// The opener's side of a gathering, over connections of whatever kind: the room that guests come into.
package actor OpenedRoom {
  /// What the opener's user hears; ends with the gathering.
  package nonisolated let events: AsyncStream<RoomEvent>
  /// The code as it is read out, such as `7-maple-harbor`.
  package nonisolated let code: String
  /// The code's number, by which guests find the room.
  package nonisolated let number: UInt16
  private let opener: GatheringOpener
  private let clock: RoomClock
  private let told: AsyncStream<RoomEvent>.Continuation
  private let arrivals: AsyncStream<any PeerTransport>
  private let door: AsyncStream<any PeerTransport>.Continuation
  private var lines: [GatheringOpener.ID: RoomLine] = [:]

  /// Opens, and draws the code. `card` is this device's own, signed, with its beacon key. Throws a ``GatheringFailure``.
  package init(card: PeerCard, identity: Identity, clock: RoomClock) throws(GatheringFailure) {
    opener = try GatheringOpener(card: card, identity: identity, at: clock.now())
    code = opener.code.text
    number = opener.code.number
    self.clock = clock
    (events, told) = AsyncStream.makeStream()
    // Whoever accepts connections limits how many there are.
    (arrivals, door) = AsyncStream.makeStream()
  }

  /// Takes connections from these sources until the gathering is over, then says what is still to be said, and returns.
  package func run(_ sources: [AsyncStream<any PeerTransport>]) async {
    let feeding = Task { [door] in
      await withDiscardingTaskGroup { group in
        for source in sources { group.addTask { for await connection in source { door.yield(connection) } } }
      }
    }
    let timing = Task { await keepTime() }
    await withDiscardingTaskGroup { group in
      for await connection in arrivals { group.addTask { await self.serve(connection) } }
      feeding.cancel()
    }
    timing.cancel()
  }

  /// "Everybody is here": shows the list to all, and lets nobody in any more; whether it did, as it doesn't without a guest.
  package func close() -> Bool {
    perform(opener.close(at: clock.now()))
    if opener.isClosed { door.finish() }
    return opener.isClosed
  }

  /// What the user says of the comparison.
  package func say(_ isSame: Bool) { perform(opener.say(isSame, at: clock.now())) }

  private func keepTime() async {
    while let deadline = opener.deadline {
      do { try await clock.wait(until: deadline) } catch { return }
      perform(opener.tick(at: clock.now()))
    }
  }

  private func serve(_ connection: any PeerTransport) async {
    let (admitted, actions) = opener.connected(at: clock.now())
    let line = RoomLine(connection)
    if let admitted { lines[admitted] = line } else { line.hangUp() }
    perform(actions)
    async let carried: Void = line.carry()
    if let id = admitted {
      while let bytes = await line.hear() {
        perform(opener.receive(bytes, from: id, at: clock.now()))
        // When there are too many connections, it is kept.
        if opener.hasLetIn(id) { connection.reached(.caller) }
      }
      // Where this side leaves, nobody else has.
      if !Task.isCancelled { perform(opener.lost(id)) }
      lines[id] = nil
    }
    line.hangUp()
    await carried
  }

  private func perform(_ actions: [GatheringOpener.Action]) {
    for action in actions {
      switch action {
      case .send(let bytes, let id): lines[id]?.say(bytes)
      case .hangUp(let id): lines[id]?.hangUp()
      case .guests(let count): told.yield(.guests(count))
      case .compare(let list): told.yield(.compare(list))
      case .agreed(let participant): told.yield(.agreed(participant))
      case .finished(let cards): end(.finished(cards))
      case .failed(let failure): end(.failed(failure))
      }
    }
  }

  private func end(_ event: RoomEvent) {
    told.yield(event)
    told.finish()
    door.finish()
    for line in lines.values { line.hangUp() }
  }
}
