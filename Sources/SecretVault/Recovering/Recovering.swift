import ShamirKit
import Sodium
import Synchronization
import VaultProtocol
import VaultStore

/// Putting a secret together from the shares of a quorum.
package final class Recovering: Room {
  package let core: VaultCore
  let directory: Directory
  let introductions: Introductions
  let circles: Circles
  let links: Links
  let post: Post
  let consent: Consent
  let sharing: Sharing

  init(
    _ core: VaultCore, _ directory: Directory, _ introductions: Introductions, _ circles: Circles, _ links: Links,
    _ post: Post, _ consent: Consent, _ sharing: Sharing
  ) {
    self.core = core
    self.directory = directory
    self.introductions = introductions
    self.circles = circles
    self.links = links
    self.post = post
    self.consent = consent
    self.sharing = sharing
  }

  /// Recovers to a file. `passwords` is asked for the secret's own password once all shares are in.
  package func recover(
    _ reference: String?, to destination: RecoveryDestination, passwords: @escaping PasswordSource,
    events: @escaping @Sendable (RecoveryEvent) -> Void
  ) async throws -> RecoveryReport {
    let recovered = try await recover(reference, .outside(destination), passwords, events)
    return recovered.report
  }

  /// Recovers to secret memory. A body of more than `limit` bytes is refused.
  package func recoverContent(
    _ reference: String?, limit: Int = RecoveredContent.usualLimit, passwords: @escaping PasswordSource,
    events: @escaping @Sendable (RecoveryEvent) -> Void
  ) async throws -> RecoveredContent {
    try await recover(reference, .memory(limit: limit), passwords, events).wholeContent()
  }

  /// Recovers to an encrypted spool.
  func recover(
    _ reference: String, into spool: RecoveredSpool, passwords: @escaping PasswordSource,
    events: @escaping @Sendable (RecoveryEvent) -> Void
  ) async throws {
    _ = try await recover(reference, .spool(spool), passwords, events)
  }

  private func recover(
    _ reference: String?, _ destination: RecoveredOutput.Destination,
    _ passwords: @escaping PasswordSource, _ events: @escaping @Sendable (RecoveryEvent) -> Void
  ) async throws -> Recovery.Recovered {
    let record = if let reference { try directory.resolve(reference) } else { try directory.onlySecret() }
    let header = try directory.header(of: record)
    let summary = try circles.current(directory.summary(record, names: directory.peerNames()), of: record)
    let notes = OutputNotes(folders)
    if case .outside(let place) = destination { try Self.checkDestination(place, notes) }
    if let unlocked = try environment.unlocked.secret(header.id) {
      return try await recover(unlocked, header, summary, destination, passwords, events)
    }
    let recovered = try await collect(record, header, summary, events) { recovery in
      try await recovery.run(summary, to: destination, notes: notes, passwords: passwords)
    }
    self.record(.recovered, secret: header)
    return recovered
  }

  /// A recovery by the shares of one epoch: of that which counts, and of each other of which this device has a share
  /// where too few have that.
  func collect<Value: ~Copyable & Sendable>(
    _ record: SecretRecord, _ header: SecretHeader, _ summary: SecretSummary,
    _ events: @escaping @Sendable (RecoveryEvent) -> Void, _ body: (Recovery) async throws -> Value
  ) async throws -> Value {
    var epochs = try circles.usableEpochs(of: record)[...]
    let first = epochs.popFirst() ?? Epoch(header)
    var own = try ownShare(of: record, first)
    events(.started(summary))
    var epoch = first
    var failure: (any Error)?
    while true {
      let recovery = Recovery(
        epoch: epoch, own: own, search: try search(epoch, own, usesParcels: epoch.digest == first.digest, events),
        localPieces: localPieces(record, header, own, events), environment: environment,
        hint: introductions.hintOfIntroductions(record, header), events: events)
      do {
        let value = try await body(recovery)
        await recovery.finish()
        endReleaseParcels(about: header)
        return value
      } catch {
        await recovery.finish()
        let known = failure ?? error
        let isShort = [.belowThreshold, .awaitingConsent].contains(VaultError(error).code)
        guard isShort, let next = epochs.popFirst() else {
          consent.noteFailure(VaultError(known), header)
          throw known
        }
        failure = known
        epoch = next
        own = try ownShare(of: record, next)
      }
    }
  }

  static func checkDestination(_ destination: RecoveryDestination, _ notes: OutputNotes) throws {
    guard case .file(let path, let overwrites) = destination else { return }
    do { _ = try OutputFile(path: path, overwrites: overwrites, notes: notes) } catch {
      throw RecoveredOutput.error(error, path)
    }
  }

  /// Verified against the commitments. Without it no peer would answer.
  func ownShare(of record: SecretRecord, _ epoch: Epoch) throws -> HeldShare {
    let name = record.description ?? record.id.description
    guard let stored = try database.share(ofSecret: record.id, epoch: Int64(epoch.number)) else {
      throw VaultError(
        .refused, "this device holds no share of \(name), and peers answer only holders",
        hint: "recover it on the device of somebody who holds one")
    }
    let held = try HeldShare(index: stored.index, record: stored.bytes, of: name)
    do { try held.share.verify(against: epoch.commitments) } catch {
      throw VaultError(.damaged, "this device's share of \(name) does not verify")
    }
    return held
  }

  /// Who may hold a share, in the order in which they are asked: those named by dealer or labels first, and proven peers before others.
  func likelyHolders(_ header: SecretHeader) throws -> [PeerRecord] {
    let labels = Set(header.labels ?? [])
    let named = namedHolders(of: header.id)
    func rank(_ peer: PeerRecord) -> Int {
      var rank = peer.state == .proven ? 0 : 1
      let isLikely = peer.introducer != nil || peer.signingKey == header.dealerKey || labels.contains(peer.name)
      if !isLikely, !named.contains(peer.digest) { rank += 2 }
      return rank
    }
    var peers = try database.peers()
    do { peers += try introductions.introducedHolders(of: header.id) } catch {
      // What others have said must not stand in the way of a recovery.
      environment.log.error(
        "the holders that were introduced for secret \(header.id) can't be read: \(VaultError(error).reason)")
    }
    let ordered = peers.enumerated().sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }
    return ordered.map(\.element)
  }

  /// Card digests of the holders whom a secret's dealer has introduced; unreadable ones are left out.
  func namedHolders(of secret: SecretID) -> Set<Digest> {
    let rows = (try? database.introductions(ofSecret: secret)) ?? []
    return Set(rows.filter { $0.state == .active }.map(\.digest))
  }

  func search(
    _ epoch: Epoch, _ own: HeldShare, usesParcels: Bool, _ events: @escaping @Sendable (RecoveryEvent) -> Void
  ) throws -> HolderSearch {
    let header = epoch.header
    let peers = try likelyHolders(header)
    let evaluation: RistrettoPoint
    do { evaluation = try core.evaluations.evaluation(epoch, own.share.index) } catch {
      throw VaultError(.damaged, "the stored header does not fit this device's share")
    }
    let due = DuePieces()
    let job = ReleaseAsker(
      epoch: epoch, own: own, evaluation: evaluation, prover: identity.keys.digest, due: due)
    let heard = NewsOfHolders()
    return HolderSearch(
      peers, due: due, environment: environment, began: { events(.asking(peer: $0.name)) },
      // Holders that have moved are asked again, and new ones, too.
      learned: { [self] in newcomers(heard.take(), header) },
      ask: { [self] peer in
        var job = job
        // Once each: whoever doesn't answer that may have a fragment all the same.
        if heard.isFirstQuestion(to: peer.digest) {
          job.cards = introductions.cardExchange(with: peer, about: header) { heard.add($0) }
        }
        return await usesParcels ? ask(peer, job) : askInSession(peer, job)
      })
  }

  /// Likely holders among these.
  private func newcomers(_ digests: Set<Digest>, _ header: SecretHeader) -> [PeerRecord] {
    guard !digests.isEmpty, let holders = try? likelyHolders(header) else { return [] }
    return holders.filter { digests.contains($0.digest) }
  }

  /// Uses what has come by parcel, else a session; who can't be reached is asked by parcel if somebody waits for it.
  private func ask(_ peer: PeerRecord, _ job: ReleaseAsker) async -> HolderSearch.Answer {
    let known = parcelAnswer(of: peer, job)
    // An incomplete fragment may be complete by now.
    if let known, case .released(let share) = known,
      let pieces = share.pieces as? ParcelPieces, UInt64(pieces.pieces.count) == job.header.dispersal.stripeCount
    {
      return known
    }
    let answer = await askInSession(peer, job)
    guard case .failed(_, let failure) = answer, failure.isOfLine else { return answer }
    if let known { return known }
    // Not where enough others have answered, nor holders that were only introduced.
    guard !Task.isCancelled, peer.introducer == nil else { return answer }
    return askByParcel(peer, job) ? .failed(peer.asked, failure.askedByParcel) : answer
  }

  private func askInSession(_ peer: PeerRecord, _ job: ReleaseAsker) async -> HolderSearch.Answer {
    let recipient: Recipient
    // Only now: reading a card takes time, and most peers of many are not asked.
    do { recipient = try directory.recipient(peer) } catch {
      return .failed(peer.asked, LinkFailure(local: error))
    }
    do { return .released(try await links.ask(job, of: recipient)) } catch { return .failed(peer.asked, error) }
  }

  /// Nil if the own fragment can't be read: then one more peer's takes its place.
  func localPieces(
    _ record: SecretRecord, _ header: SecretHeader, _ own: HeldShare,
    _ events: @escaping @Sendable (RecoveryEvent) -> Void
  ) -> LocalPieces? {
    do {
      let reader = try database.openFragment(of: record.id, index: Int(own.share.index))
      return LocalPieces(reader: reader, header: header, index: own.share.index)
    } catch {
      events(.problem(peer: "this device", reason: "can't read its own fragment: \(error)"))
      return nil
    }
  }
}

/// Holders of whom others have handed on cards during a recovery.
private final class NewsOfHolders: Sendable {
  private let digests = Mutex<Set<Digest>>([])
  private let asked = Mutex<Set<Digest>>([])

  func isFirstQuestion(to peer: Digest) -> Bool { asked.withLock { $0.insert(peer).inserted } }

  func add(_ heard: [Digest]) { digests.withLock { $0.formUnion(heard) } }

  /// Returns who was heard of, and forgets it.
  func take() -> Set<Digest> {
    digests.withLock { digests in
      defer { digests = [] }
      return digests
    }
  }
}

extension Recovering {
  /// For secrets without a password.
  package static let noPassword: PasswordSource = { (_) async throws in nil }

  /// For secrets without a password of their own.
  package func recover(
    _ reference: String?, to destination: RecoveryDestination, events: @escaping @Sendable (RecoveryEvent) -> Void
  ) async throws -> RecoveryReport {
    try await recover(reference, to: destination, passwords: Self.noPassword, events: events)
  }
}
