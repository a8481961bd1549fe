import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// Fire drills: who could help to recover a secret right now, by proofs that holders give, without recovering it.
package final class Checking: Room {
  package let core: VaultCore
  let directory: Directory
  let introductions: Introductions
  let links: Links
  let recovering: Recovering
  let changing: Changing
  let postponedDrills = PostponedDrills()

  init(
    _ core: VaultCore, _ directory: Directory, _ introductions: Introductions, _ links: Links, _ recovering: Recovering,
    _ changing: Changing
  ) {
    self.core = core
    self.directory = directory
    self.introductions = introductions
    self.links = links
    self.recovering = recovering
    self.changing = changing
  }

  /// Pieces of each fragment that a drill looks at unless it is told otherwise.
  package static let usualPieceCount = 64
  /// Most pieces of each fragment.
  package static let pieceCountLimit = DrillAnswerer.pieceLimit
  /// Secrets that are drilled in one session with each peer.
  private static let batch = 64

  /// Drills one secret, or all of which this device holds a share. Each result is kept, for ``status()``.
  package func check(
    _ reference: String?, pieces: Int, events: @escaping @Sendable (CheckEvent) -> Void
  ) async throws -> [CheckReport] {
    let pieces = max(1, min(pieces, Self.pieceCountLimit))
    if let reference {
      let record = try directory.resolve(reference)
      let reports = try await drill([record.id], pieces: pieces, events: events)
      if let report = reports.first, report.own == nil, let problem = report.problem { throw problem }
      return reports
    }
    // One that is damaged must not hide the others; it is found again when it is read.
    let (listing, damaged) = try database.soundListing()
    let ids = listing.lines.map(\.id) + damaged
    return try await drill(ids, pieces: pieces, events: events)
  }

  /// Drills secrets by id, some at a time. Those that are deleted meanwhile are left out; one that is damaged in the store
  /// is reported as a problem of its own.
  func drill(
    _ ids: [SecretID], pieces: Int, warns: Bool = false, events: @escaping @Sendable (CheckEvent) -> Void
  ) async throws -> [CheckReport] {
    var reports: [CheckReport] = []
    for start in stride(from: 0, to: ids.count, by: Self.batch) {
      if Task.isCancelled { throw VaultError(.interrupted, "the check was interrupted") }
      let names = try directory.peerNames()
      var subjects: [DrillSubject] = []
      for id in ids[start..<min(start + Self.batch, ids.count)] {
        do {
          guard let record = try database.secret(id) else { continue }
          subjects.append(try subject(record, pieces, names))
        } catch {
          guard VaultError(error).code == .damaged else { throw error }
          reports.append(CheckReport(unreadable: id, at: environment.now(), problem: VaultError(error)))
        }
      }
      let findings = await ask(subjects, events)
      for (place, subject) in subjects.enumerated() {
        let found = findings.compactMapValues { $0[place] }
        let outcome = subject.outcome(found, names: names, at: environment.now())
        reports.append(outcome.report)
        do { try keep(outcome, subject, warns: warns) } catch {
          // Who asked is told what was found, noted or not. The daemon would find it anew all the time.
          guard VaultError(error).code == .damaged || !warns else { throw error }
          guard VaultError(error).code == .damaged else {
            events(.notKept(VaultError(error)))
            continue
          }
          environment.log.error(
            "what the check of secret \(outcome.report.secret.id) found isn't kept: \(VaultError(error).reason)")
        }
      }
    }
    return reports
  }

  /// One secret, who is to be asked about it, and what this device has of it itself.
  private func subject(_ record: SecretRecord, _ pieces: Int, _ names: [Digest: String]) throws -> DrillSubject {
    let header = try directory.header(of: record)
    let summary = try recovering.circles.current(directory.summary(record, names: names), of: record)
    var deliveries: [Digest: OutboxRecord] = [:]
    if record.origin == .dealt {
      for entry in try database.deliveries(ofSecret: record.id) { deliveries[entry.entry.recipient] = entry }
    }
    var subject = DrillSubject(
      id: record.id, header: header, summary: summary, isDealt: record.origin == .dealt, deliveries: deliveries,
      before: try database.drill(ofSecret: record.id))
    do {
      let epochs = try recovering.circles.ownEpochs(record.id)
      guard record.ownIndex == nil || !epochs.isEmpty else {
        throw VaultError(.damaged, "this device's share of \(record.description ?? record.id.description) is missing")
      }
      let epoch = try recovering.circles.usableEpochs(of: record).first ?? Epoch(header)
      let own = try recovering.ownShare(of: record, epoch)
      let evaluation: RistrettoPoint
      do { evaluation = try core.evaluations.evaluation(epoch, own.share.index) } catch {
        throw VaultError(.damaged, "the stored header does not fit this device's share")
      }
      subject.own = ownCheck(record, header, own, pieces)
      subject.question = DrillAsker.Question(epoch: epoch, own: own, evaluation: evaluation, pieceCount: pieces)
      subject.named = recovering.namedHolders(of: record.id)
      subject.areIntroductionsOff = introductions.lacksIntroductions(record, header)
      subject.collectsJoinings = !recovering.circles.withholdsJoinings
      if subject.collectsJoinings { try recovering.circles.sayHeld(record) }
      let peers = try recovering.likelyHolders(header)
      // Who dealt a secret knows who got a share of it; everybody else asks all, as a recovery would.
      subject.peers = subject.isDealt ? peers.filter { deliveries[$0.digest] != nil } : peers
      if let holders = epoch.holders {
        // Once it has changed, everybody knows who holds it, whoever dealt it.
        subject.rows = Dictionary(holders.map { ($0.value, Int($0.key)) }) { first, _ in first }
        subject.peers = peers.filter { subject.rows?[$0.digest] != nil }
      }
      subject.isOwnAddressKnown = try core.usesLocalNetwork || !core.ownCard().addresses.isEmpty
      for peer in subject.peers where try directory.listensNowhere(peer) { subject.deaf.insert(peer.digest) }
    } catch {
      guard VaultError(error).code == .damaged, let index = record.ownIndex else {
        subject.problem = VaultError(error)
        return subject
      }
      subject.own = HolderCheck(
        peer: nil, index: index, state: .damaged, hasProvedShare: false, piecesSeen: 0, reason: VaultError(error).reason
      )
      subject.problem = VaultError(error)
    }
    return subject
  }

  private func ownCheck(
    _ record: SecretRecord, _ header: SecretHeader, _ own: HeldShare, _ pieces: Int
  ) -> HolderCheck {
    var seen = 0
    var reason: String?
    do {
      let reader = try database.openFragment(of: record.id, index: Int(own.share.index))
      let local = LocalPieces(reader: reader, header: header, index: own.share.index)
      for number in try PieceSample.draw(pieces, of: header.dispersal.stripeCount) {
        _ = try local.provenPiece(number)
        seen += 1
      }
    } catch let failure as LinkFailure {
      reason = failure.reason
    } catch {
      reason = "can't read its fragment: \(error)"
    }
    return HolderCheck(
      peer: nil, index: Int(own.share.index), state: reason == nil ? .answered : .damaged, hasProvedShare: true,
      piecesSeen: seen, reason: reason)
  }

  /// Asks every peer about all that it may hold, many peers at a time. The findings are by peer, then by the secret's place.
  private func ask(
    _ subjects: [DrillSubject], _ events: @escaping @Sendable (CheckEvent) -> Void
  ) async -> [Digest: [Int: DrillFinding]] {
    var order: [PeerRecord] = []
    var questions: [Digest: [(place: Int, question: DrillAsker.Question)]] = [:]
    for (place, subject) in subjects.enumerated() {
      guard let question = subject.question else { continue }
      for peer in subject.peers {
        if questions[peer.digest] == nil { order.append(peer) }
        var question = question
        if subject.collectsJoinings {
          question.joinings = changing.joiningExchange(
            of: subject.id, with: peer.digest, wasHolder: subject.wasHolder(peer.digest))
        }
        questions[peer.digest, default: []].append((place, question))
      }
    }
    guard !order.isEmpty else { return [:] }
    events(.asking(peers: order.count, secrets: subjects.count { $0.question != nil }))
    let jobs = order.map { ($0, questions[$0.digest] ?? []) }
    let answers = await limitedConcurrency(jobs, limit: contactConcurrency) { [self] job in
      (job.0.digest, job.1.map(\.place), await ask(job.0, job.1.map(\.question)))
    }
    var findings: [Digest: [Int: DrillFinding]] = [:]
    for (digest, places, found) in answers {
      findings[digest] = Dictionary(uniqueKeysWithValues: zip(places, found))
    }
    return findings
  }

  /// How often a peer is dialled again after a session that has ended in the middle of its questions.
  private static let sessionLimit = 3

  /// Asks one peer. A question that breaks the session fails alone: the others are asked in another one.
  private func ask(_ peer: PeerRecord, _ questions: [DrillAsker.Question]) async -> [DrillFinding] {
    let findings = DrillFindings(count: questions.count)
    var failure = LinkFailure.hungUp
    var sessions = 0
    while let first = findings.next, sessions < Self.sessionLimit, !Task.isCancelled {
      sessions += 1
      let recipient: Recipient
      do { recipient = try directory.recipient(peer) } catch {
        return findings.all(orElse: LinkFailure(local: error))
      }
      let asked = questions[first...].map { question in
        var question = question
        question.cards = introductions.cardExchange(with: peer, about: question.header)
        return question
      }
      let asker = DrillAsker(prover: identity.keys.digest, questions: asked) { findings.set(first + $0, $1) }
      do {
        try await links.ask(asker, of: recipient)
        failure = LinkFailure(.misbehaved, "answered something else")
      } catch {
        failure = error
        // Nobody there, not known there, too old, or this device's own fault: no other question would do better.
        guard error.kind == .cutOff || error.kind == .misbehaved, let broken = findings.next else {
          return findings.all(orElse: error)
        }
        findings.set(broken, .failed(error))
      }
    }
    return findings.all(orElse: failure)
  }

  /// Notes what was found, for the status and the next drill, and warns if it is worse than what was warned of last.
  private func keep(_ outcome: DrillSubject.Outcome, _ subject: DrillSubject, warns: Bool) throws {
    let report = outcome.report
    guard report.own != nil else { return }
    let facts = "\(report.answered) of \(report.secret.shareCount) holders answered, \(report.secret.threshold) needed"
    record(.checked, secret: subject.header, detail: facts)
    var warned = subject.before?.warned ?? .none
    if warns {
      let level = report.warning
      // Before it is noted: a warning too many is better than none.
      if level > warned { record(level == .lost ? .holdersLost : .holdersLow, secret: subject.header, detail: facts) }
      warned = level
    }
    let drill = DrillRecord(
      secretID: subject.id, checkedAt: report.checkedAt, answered: report.answered, needed: report.secret.threshold,
      isRecoverable: report.isRecoverable, isRecoverableElsewhere: report.isRecoverableElsewhere, warned: warned,
      holders: outcome.known)
    do { try database.putDrill(drill) } catch {
      // Deleted while it was drilled.
      guard case .notFound = error else { throw error }
    }
  }
}

extension CheckReport {
  /// A secret that can't even be read here: nothing is known of it but its id.
  init(unreadable id: SecretID, at time: Int64, problem: VaultError) {
    let summary = SecretSummary(
      id: id.description, description: nil, kind: "unknown", origin: .held, dealer: "unknown", threshold: 0,
      shareCount: 0, ownIndex: nil, createdAt: 0, delivered: nil, waiting: nil)
    self.init(
      secret: summary, checkedAt: time, own: nil, holders: [], possible: [], others: 0,
      fragmentsNeeded: 0, pieceCount: 0, problem: problem)
  }

  /// What the user is to be warned of. While shares of it still wait for delivery nothing has been lost yet.
  var warning: DrillRecord.Warning {
    if (secret.waiting ?? 0) > 0 { return .none }
    if !isRecoverable { return .lost }
    return answered <= secret.threshold && answered < secret.shareCount ? .low : .none
  }
}
