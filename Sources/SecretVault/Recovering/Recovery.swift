import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// One recovery: who answered, whose fragments are in use, who takes over.
actor Recovery {
  private let epoch: Epoch
  private let header: SecretHeader
  private let own: HeldShare
  private let search: HolderSearch
  private let localPieces: LocalPieces?
  private let events: @Sendable (RecoveryEvent) -> Void

  private var tally: RecoveryTally
  /// Unused sources, in order of arrival.
  private var spares: [any PieceSource] = []
  /// To be closed at the end.
  private var open: [any PieceSource] = []
  private var knownIndices: Set<UInt8>
  /// The piece at which a peer's connection was last cut.
  private var lastCut: [AskedHolder: UInt64] = [:]
  /// Peers whose connections were cut and that could not be reached since.
  private var lost: [AskedHolder] = []
  /// How often each of them was waited for.
  private var waits: [AskedHolder: Int] = [:]
  static let waitLimit = 3
  private let environment: VaultEnvironment
  /// For the error if it isn't enough.
  private let hint: String

  init(
    epoch: Epoch, own: HeldShare, search: HolderSearch, localPieces: LocalPieces?,
    environment: VaultEnvironment, hint: String?, events: @escaping @Sendable (RecoveryEvent) -> Void
  ) {
    self.environment = environment
    self.hint = hint ?? "nothing was written; try again when more holders are reachable"
    self.epoch = epoch
    header = epoch.header
    self.own = own
    self.search = search
    self.localPieces = localPieces
    self.events = events
    tally = RecoveryTally(need: epoch.scheme.threshold)
    knownIndices = [own.share.index]
    if let localPieces { spares = [localPieces] }
  }

  /// Nothing is left at `destination` unless this returns.
  func run(
    _ summary: SecretSummary, to destination: RecoveredOutput.Destination, notes: OutputNotes,
    passwords: @escaping PasswordSource
  ) async throws -> Recovered {
    let key = try await collectKey()
    let output = RecoveredOutput(destination, kind: header.kind, notes)
    var sink = try PlaintextSink(
      key: key, byteCount: header.dispersal.byteCount, output: output, passwords: passwords)
    do { try await assemble(into: &sink) } catch {
      throw sink.output.hasLeaked ? VaultError(error).afterOutput : error
    }
    let written = try sink.output.commit()
    return Recovered(
      report: written.report(summary, holders: await outcomes()),
      content: sink.output.takeContent())
  }

  /// Collects the key and the ciphertext, and decrypts nothing.
  func unlock(into file: CiphertextFile) async throws -> Unlocked {
    let key = try await collectKey()
    var sink = CiphertextKeeper(file: file)
    try await assemble(into: &sink)
    return Unlocked(secret: UnlockedSecret(key: key, ciphertext: file), holders: await outcomes())
  }

  struct Unlocked: ~Copyable, Sendable {
    let secret: UnlockedSecret
    let holders: [HolderOutcome]
  }

  private func assemble<Sink: CiphertextSink & ~Copyable>(into sink: inout Sink) async throws {
    var sources: [any PieceSource] = []
    while sources.count < header.dispersal.dataCount { sources.append(try await anotherSource()) }
    search.due.begin()
    let total = header.dispersal.byteCount
    let events = events
    let assembly = FragmentAssembly(
      header: header,
      replace: { [self] (failed, failure, position) async throws in
        try await replacement(for: failed, failure, at: position)
      },
      maySwitch: { [self] in await hasOtherSources() },
      environment: environment,
      progress: { events(.progress(done: $0, total: total)) })
    try await assembly.run(from: sources, into: &sink)
  }

  private func outcomes() async -> [HolderOutcome] {
    for peer in await search.asked { tally.notNeeded(peer) }
    return tally.outcomes
  }

  /// With the content if it was to stay in memory.
  struct Recovered: ~Copyable, Sendable {
    let report: RecoveryReport
    let content: RecoveredContent?

    /// What was to stay in memory, with the report.
    consuming func wholeContent() throws -> RecoveredContent {
      let report = report
      guard var content = content else { throw VaultError(.other, "nothing was recovered") }
      content.report = report
      return content
    }
  }

  func finish() async {
    for answer in await search.stop() {
      if case .released(let share) = answer { open.append(share.pieces) }
    }
    await withTaskGroup(of: Void.self) { group in
      for source in open { group.addTask { await source.close() } }
    }
  }

  // MARK: - Shares

  /// Collects until a threshold of shares verify together; reports whoever sent a bad one and goes on without it.
  private func collectKey() async throws -> SecretBytes {
    let need = epoch.scheme.threshold
    var collector = try ShareCollector(scheme: epoch.scheme, commitments: epoch.commitments)
    try add(own.share, to: &collector)
    var givers: [UInt8: AskedHolder] = [:]
    while true {
      while collector.indices.count < need {
        let missing = need - collector.indices.count
        guard let share = try await nextShare(of: missing) else { throw belowThreshold() }
        try add(share.share, to: &collector)
        givers[share.share.index] = share.peer
        tally.answered(share.peer)
        spares.append(share.pieces)
        events(.share(peer: share.peer.name, have: collector.indices.count, need: need))
      }
      do {
        try collector.verify()
        return try collector.fileKey(for: header.id)
      } catch .invalidShares(let indices) {
        // The own share was verified before, so these should be others'.
        for index in indices { await convict(givers[index], index) }
        if indices.contains(own.share.index) {
          throw VaultError(.damaged, "this device's own share does not verify")
        }
      } catch .inconsistentCommitments {
        throw VaultError(.damaged, "the dealer of this secret dealt shares that don't fit together")
      } catch {
        throw VaultError(.other, "the shares can't be combined: \(error)")
      }
    }
  }

  private func add(_ share: borrowing KeyShare, to collector: inout ShareCollector) throws {
    do {
      try collector.add(KeyShare(index: share.index, bytes: share.bytes.duplicate()))
    } catch {
      throw VaultError(.other, "a share can't be taken in: \(error)")
    }
  }

  private func convict(_ peer: AskedHolder?, _ index: UInt8) async {
    guard let peer else { return }
    let reason = "sent a share that does not verify"
    tally.bad(peer, reason)
    events(.problem(peer: peer.name, reason: reason))
    knownIndices.remove(index)
    spares.removeAll { $0.index == index }
  }

  /// The next share with a new index; nil when everybody has been asked.
  private func nextShare(of wanted: Int) async throws -> ReleasedShare? {
    while true {
      guard let answer = await search.next(wanted: wanted) else {
        if await waitForLost() { continue }
        break
      }
      switch answer {
      case .failed(let peer, let failure):
        let isNews = await askAgainIfCut(peer, failure)
        tally.failed(peer, failure)
        if lastCut[peer] != nil, failure.kind == .unreachable { lost.append(peer) }
        if failure.isWaiting {
          events(.waits(peer: peer.name, until: failure.wait.map { ReleaseConsent.sum(environment.now(), $0) }))
        } else if isNews {
          events(.problem(peer: peer.name, reason: failure.reason))
        }
      case .released(let share):
        open.append(share.pieces)
        lost.removeAll { $0 == share.peer }
        guard knownIndices.insert(share.share.index).inserted else {
          let reason = "sent another holder's share"
          tally.bad(share.peer, reason)
          events(.problem(peer: share.peer.name, reason: reason))
          continue
        }
        return share
      }
    }
    if Task.isCancelled { throw VaultError(.interrupted, "recovery was interrupted; nothing was written") }
    return nil
  }

  /// When nobody else is left, asks a lost peer again after a pause, longer each time: it may be back. False if there is none.
  private func waitForLost() async -> Bool {
    while !lost.isEmpty, !Task.isCancelled {
      let peer = lost.removeFirst()
      let count = waits[peer, default: 0]
      guard count < Self.waitLimit else { continue }
      waits[peer] = count + 1
      do { try await environment.sleep(environment.deadlines.comeback * (1 << count)) } catch { return false }
      await search.afterProgress(peer)
      return true
    }
    return false
  }

  private func belowThreshold() -> VaultError {
    if tally.waiting > 0, tally.have + tally.waiting >= tally.need { return awaitingConsent() }
    return tally.failure(.belowThreshold, hint: hint)
  }

  /// Asks again at once, a few times, if the connection broke, and then after pauses. False if it broke before: that was reported.
  private func askAgainIfCut(_ peer: AskedHolder, _ failure: LinkFailure) async -> Bool {
    guard failure.kind == .cutOff, !Task.isCancelled else { return true }
    let isNews = lastCut[peer] == nil
    if isNews { lastCut[peer] = 0 }
    if await !search.again(peer) { lost.append(peer) }
    return isNews
  }

  /// Only holders' consent is missing, or time.
  private func awaitingConsent(because cause: String = "") -> VaultError {
    tally.failure(
      .awaitingConsent, because: cause,
      hint: "nothing was written; ask the holders to approve it, and run it again later or with --wait")
  }

  // MARK: - Fragments

  private func replacement(
    for failed: any PieceSource, _ failure: LinkFailure, at position: UInt64
  ) async throws -> any PieceSource {
    if let peer = failed.holder, await staysInReserve(peer, failure, at: position) {
      knownIndices.remove(failed.index)
      await failed.close()
      return try await anotherSource()
    }
    let name = failed.holder?.name ?? "this device"
    events(.problem(peer: name, reason: failure.reason))
    if let peer = failed.holder {
      if failure.refusal == .fragmentDamaged { tally.bad(peer, failure.reason) } else { tally.failed(peer, failure) }
    }
    return try await anotherSource()
  }

  /// Peers with cut or slow connections are asked again, after all others, from the piece that is due, until they are of no use repeatedly.
  private func staysInReserve(_ peer: AskedHolder, _ failure: LinkFailure, at position: UInt64) async -> Bool {
    switch failure.kind {
    case .slow:
      events(.problem(peer: peer.name, reason: failure.reason))
      return if await search.later(peer) { true } else { await search.again(peer) }
    case .cutOff:
      let isOfUse = position > lastCut[peer] ?? 0
      lastCut[peer] = position
      search.due.cut(peer, at: position)
      if isOfUse {
        waits[peer] = nil
        await search.afterProgress(peer)
      } else if await !search.again(peer) {
        // After a pause, when nobody else is left.
        tally.failed(peer, failure)
        events(.problem(peer: peer.name, reason: failure.reason))
        lost.append(peer)
      }
      return true
    case .unreachable, .unknownHere, .refused, .misbehaved, .local:
      return false
    }
  }

  private func hasOtherSources() async -> Bool {
    if !spares.isEmpty { return true }
    return await search.hasOthers
  }

  /// A spare source, or that of the next peer that releases its share.
  private func anotherSource() async throws -> any PieceSource {
    if !spares.isEmpty { return spares.removeFirst() }
    while let share = try await nextShare(of: 1) {
      guard (try? share.share.verify(against: epoch.commitments)) != nil else {
        await convict(share.peer, share.share.index)
        continue
      }
      tally.answered(share.peer)
      return share.pieces
    }
    let cause =
      "the key is complete, but fewer than \(header.dispersal.dataCount) undamaged fragments of the file can be had: "
    if tally.waiting > 0 { throw awaitingConsent(because: cause) }
    throw tally.failure(.belowThreshold, because: cause, hint: hint)
  }
}
