import PeerAuth
import Sodium
import VaultProtocol
import VaultStore

/// Asks holders that can't be reached for their shares by parcel, for somebody who is willing to wait.
extension Recovering {
  /// Milliseconds after which a peer that refused by parcel may be asked again.
  private static let refusalTime: Int64 = 86_400_000

  /// Nil if nothing has come.
  func parcelAnswer(of peer: PeerRecord, _ job: ReleaseAsker) -> HolderSearch.Answer? {
    do {
      guard let record = try releaseParcel(to: peer, job.header, in: [.answered]) else { return nil }
      do { return .released(try read(record, of: peer, job)) } catch {
        // It may be the answer for another epoch.
        guard try !circles.hasChanged(job.header.id) else {
          try post.end(record)
          return nil
        }
        try drop(record, after: error, peer)
        return .failed(peer.asked, error)
      }
    } catch {
      environment.log.error("an answer of \(peer.name) by parcel can't be read: \(VaultError(error).reason)")
      return nil
    }
  }

  /// The request for a peer's share in one of these states.
  private func releaseParcel(
    to peer: PeerRecord, _ header: SecretHeader, in states: Set<ParcelRecord.State>
  ) throws -> ParcelRecord? {
    try post.parcels(.request, states)
      .first { $0.delivery == nil && $0.peer == peer.digest && $0.secretID == header.id }
  }

  private func read(
    _ record: ParcelRecord, of peer: PeerRecord, _ job: ReleaseAsker
  ) throws(LinkFailure) -> ReleasedShare {
    let local = LinkFailure(.local, "can't be asked: its answer by parcel can't be read on this device")
    let letter: ParcelLetter
    let key: AgreementKeyPair
    do {
      guard let content = try database.parcelContent(record.id) else {
        throw LinkFailure(.misbehaved, "sent an answer by parcel before that was worth nothing")
      }
      guard case .letter(let found, let sender) = try post.open(try Parcel.decode(content, limit: Parcel.byteLimit)),
        sender.digest == peer.digest, let secret = try replyKey(of: record.id)
      else { throw local }
      letter = found
      key = secret
    } catch {
      throw error as? LinkFailure ?? local
    }
    let reader = ParcelReleaseReader(epoch: job.epoch, own: job.own, request: record.request, peer: peer)
    return try reader.read(letter.frames, with: key)
  }

  private func replyKey(of id: ParcelID) throws -> AgreementKeyPair? {
    let found = try database.replySecret(id)
    guard let secret = consume found else { return nil }
    return try AgreementKeyPair(secret: secret)
  }

  /// Drops a wrong answer, but keeps a note of it, so that the peer isn't asked again and again.
  private func drop(_ record: ParcelRecord, after failure: LinkFailure, _ peer: PeerRecord) throws {
    let isOld = !(0..<Self.refusalTime).contains(environment.now() - record.createdAt)
    if isOld, failure.kind == .refused || failure.kind == .misbehaved {
      return try database.removeParcels([record.id])
    }
    guard failure.kind == .misbehaved, try post.parcelContent(record.id) != nil else { return }
    recordUnlessTooMany(.refused, peer: peer, detail: "sent an answer by parcel that was dropped: \(failure.reason)")
    _ = try database.updateParcel(record, from: record, content: .clear, forgetsSecret: true)
  }

  /// Asks once. Returns whether the peer is asked.
  func askByParcel(_ peer: PeerRecord, _ job: ReleaseAsker) -> Bool {
    let header = job.header
    guard post.parcelMemory.isPatient, header.dispersal.fragmentByteCount <= Post.parcelFragmentLimit else {
      return false
    }
    do {
      if try releaseParcel(to: peer, header, in: [.waiting, .posted]) != nil { return true }
      guard try releaseParcel(to: peer, header, in: [.answered]) == nil, try post.mayGetParcels(peer) else {
        return false
      }
      let live = try database.parcels(.request, [.waiting, .posted])
      guard live.count(where: { $0.peer == peer.digest }) < Post.parcelsOfPeer else { return false }
      return try makeReleaseParcel(peer, job)
    } catch {
      environment.log.error("\(peer.name) can't be asked by parcel: \(VaultError(error).reason)")
      return false
    }
  }

  private func makeReleaseParcel(_ peer: PeerRecord, _ job: ReleaseAsker) throws -> Bool {
    let header = job.header
    let keys = try directory.storedCard(peer).keys
    let number = core.requestNumber()
    let envelope = try ParcelEnvelope(lifetime: Post.parcelLifetime, at: environment.now())
    let tag: Digest
    let possession: Possession
    let secret: SecretBytes?
    do {
      tag = try AskTag.of(header.id)
      let binding = try envelope.binding(from: identity, to: keys)
      let exchange = PossessionExchange(
        job.epoch, purpose: .release, prover: identity.keys.digest, verifier: keys.digest,
        kind: .parcel, binding: binding, nonce: try OpeningChallenge.of(binding))
      possession = try exchange.prove(
        request: number, share: job.own.share, salt: job.own.salt, evaluation: job.evaluation)
      secret = try envelope.replyKey.secretCopy()
    } catch { throw VaultError(.other, "a proof can't be made: \(error)") }
    let frames = [
      try Post.frame(Hello(services: introductions.services)),
      try Post.frame(
        ReleaseRequest(request: number, tag: tag, headerDigest: job.epoch.digest, epoch: job.epoch.number)),
      try Post.frame(possession),
      try Post.frame(PieceRequest(request: number, first: 0, count: UInt32(clamping: header.dispersal.stripeCount))),
    ]
    let parcel = try envelope.seal(frames, from: identity, to: keys)
    let record = envelope.record(
      .request, to: peer.digest, about: header.id, request: number, ways: post.usualWays())
    return try database.addParcel(record, content: parcel, replySecret: secret)
  }

  // MARK: - The end of a recovery

  /// After a successful recovery, removes answers and their keys, and withdraws open requests.
  func endReleaseParcels(about header: SecretHeader) {
    do {
      for record in try post.parcels(.request, [.waiting, .posted, .answered])
      where record.delivery == nil && record.secretID == header.id {
        try post.end(record)
      }
    } catch {
      environment.log.error("parcels that aren't needed any more could not be withdrawn: \(VaultError(error).reason)")
    }
  }

  /// Ids of requests whose answers are here.
  func answeredParcels() -> Set<ParcelID> {
    guard let answered = try? post.parcels(.request, [.answered]) else { return [] }
    return Set(answered.filter { $0.delivery == nil }.map(\.id))
  }

  /// Whether parcels with requests wait for answers.
  var awaitsParcels: Bool { (try? database.hasParcels([.waiting, .posted], direction: .request)) == true }
}
