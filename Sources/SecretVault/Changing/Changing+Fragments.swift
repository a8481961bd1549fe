import Concurrency
import PeerAuth
import ShamirKit
import Sodium
import Synchronization
import VaultProtocol
import VaultStore

/// A fragment for somebody who holds none: rebuilt from pieces of k others, stripe by stripe, so that never all of the
/// ciphertext is here.
extension Changing {
  /// Milliseconds for which what has come of a fragment is kept.
  private static let partialLifetime: Int64 = 7 * 86_400_000

  /// Nil if too few of those who hold fragments can be reached.
  func rebuildFragment(
    _ index: UInt8, _ circle: Circle, _ proposal: Proposal
  ) async throws -> FragmentRecord? {
    let (header, asker) = (circle.header, proposal.asker.digest)
    let isOpen = Mutex(false)
    do {
      let rebuilt = try await rebuild(index, circle) { [self] in
        let partial = try openPartial(index, header, from: asker)
        isOpen.withLock { $0 = true }
        return partial
      }
      switch rebuilt {
      case .done(let partial, _): return try complete(partial, header, from: asker)
      case .tooFew(_, let reached):
        try writeForPieces(circle, index, besides: reached)
        return nil
      }
    } catch {
      // What somebody else is at is theirs.
      if isOpen.withLock({ $0 }) { try? database.discardPartial(of: header.id, index: Int(index)) }
      throw error
    }
  }

  /// Makes this device's own fragment anew where it is damaged or missing; what is there stays until the new one is whole. Returns what was wrong
  /// with those whose pieces weren't used.
  func repairFragment(_ id: SecretID) async throws -> [SourceFailure] {
    guard let record = try database.secret(id), let own = record.ownIndex, let index = UInt8(exactly: own) else {
      throw VaultError(.notFound, "this device holds no share of \(directory.secretReference(id).name)")
    }
    let circle = try circles.circle(of: record)
    let header = circle.header
    let known = (try? database.fragment(of: id, index: own)) ?? nil
    let source = known.map(\.source) ?? (record.origin == .dealt ? nil : record.dealer)
    let opened = Mutex<PartialFragment?>(nil)
    do {
      let rebuilt = try await rebuild(index, circle) { [self] in
        let wanted = try lengths(header)
        let partial = try database.openReplacement(
          FragmentRecord(
            completeOf: id, index: own, byteCount: wanted.byteCount, trailerByteCount: wanted.trailer, pieces: 0,
            headerDigest: header.digest, source: source), pieceByteCount: header.dispersal.pieceByteCount(0))
        opened.withLock { $0 = partial }
        return partial
      }
      switch rebuilt {
      case .tooFew(let count, _):
        throw VaultError(
          .unreachable,
          "the fragment can't be made anew: \(count) other \(count == 1 ? "holder gives" : "holders give") pieces of theirs, and \(header.dispersal.dataCount) are needed",
          hint: "try again when more of them answer: vault check --repair")
      case .done(let partial, let failures):
        let fragment = try complete(partial, header, from: source)
        try await offPool { [self] in try database.replaceFragment(fragment) }
        self.record(.fragmentRebuilt, secret: header, detail: "fragment \(own)")
        return failures
      }
    } catch {
      if let partial = opened.withLock({ $0 }) { try? database.discardReplacement(partial) }
      throw error
    }
  }

  /// A holder whose pieces couldn't be used.
  package struct SourceFailure: Hashable, Sendable {
    package let peer: String
    /// In words that follow its name.
    package let reason: String
  }

  private enum Rebuilding {
    case done(PartialFragment, [SourceFailure])
    /// So many others could show their fragment, these in a session.
    case tooFew(Int, reached: Set<Digest>)
  }

  /// `open` is called once enough others are there.
  private func rebuild(
    _ index: UInt8, _ circle: Circle, into open: @Sendable () throws -> PartialFragment
  ) async throws -> Rebuilding {
    let header = circle.header
    guard core.diskReserve.allows(header.dispersal.fragmentByteCount) else {
      throw VaultError(StoreError.diskFull(path: folders.data))
    }
    let all = try await sources(circle)
    let count = header.dispersal.dataCount
    let failures = Mutex<[SourceFailure]>([])
    let result: Result<Rebuilding, any Error>
    if all.count < count {
      let reached = Set(all.filter { !($0 is ParcelPieces) }.compactMap(\.holder?.digest))
      result = .success(.tooFew(all.count, reached: reached))
    } else {
      do {
        let partial = try open()
        try await assemble(index, header, all, into: partial) { failure in failures.withLock { $0.append(failure) } }
        result = .success(.done(partial, failures.withLock { $0 }))
      } catch { result = .failure(error) }
    }
    for source in all { await source.close() }
    return try result.get()
  }

  private func assemble(
    _ index: UInt8, _ header: SecretHeader, _ all: [any PieceSource], into partial: PartialFragment,
    failed: @escaping @Sendable (SourceFailure) -> Void
  ) async throws {
    let spare = Mutex(Array(all.dropFirst(header.dispersal.dataCount)))
    var keeper = RowKeeper(header: header, index: index, partial: partial, reserve: core.diskReserve)
    let assembly = FragmentAssembly(
      header: header,
      replace: { source, failure, _ in
        await source.close()
        let name = source.holder?.name ?? "a holder"
        failed(SourceFailure(peer: name, reason: failure.reason))
        guard let next = spare.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else {
          throw VaultError(failure, peer: name)
        }
        return next
      },
      maySwitch: { spare.withLock { !$0.isEmpty } }, environment: environment, progress: { _ in })
    try await assembly.run(from: Array(all.prefix(header.dispersal.dataCount)), into: &keeper)
  }

  private func complete(
    _ partial: PartialFragment, _ header: SecretHeader, from source: Digest?
  ) throws -> FragmentRecord {
    FragmentRecord(
      completeOf: header.id, index: partial.index, byteCount: partial.byteCount,
      trailerByteCount: try lengths(header).trailer, pieces: partial.pieceCount, headerDigest: header.digest,
      source: source)
  }

  private func lengths(_ header: SecretHeader) throws -> (byteCount: Int64, trailer: Int64) {
    let plan = header.dispersal
    guard let byteCount = Int64(exactly: plan.fragmentByteCount),
      let trailer = Int64(exactly: try MerkleLayout(leafCount: plan.stripeCount).totalByteCount)
    else { throw VaultError(.damaged, "a fragment of this size can't be kept") }
    return (byteCount, trailer)
  }

  private func openPartial(_ index: UInt8, _ header: SecretHeader, from asker: Digest) throws -> PartialFragment {
    let plan = header.dispersal
    let (byteCount, trailer) = try lengths(header)
    let record = FragmentRecord(
      partialOf: header.id, index: Int(index), byteCount: byteCount, trailerByteCount: trailer,
      expiresAt: environment.now() + Self.partialLifetime, headerDigest: header.digest, source: asker)
    let partial: PartialFragment
    do { partial = try database.openPartial(record, pieceByteCount: plan.pieceByteCount(0)) } catch StoreError
      .alreadyExists
    {
      try database.discardPartial(of: header.id, index: Int(index))
      partial = try database.openPartial(record, pieceByteCount: plan.pieceByteCount(0))
    }
    try partial.truncate(toPieces: 0)
    return partial
  }

  /// Holders whose pieces this device may ask for, each with its fragment's number.
  private func sources(_ circle: Circle) async throws -> [any PieceSource] {
    let header = circle.header
    var indices: [Digest: UInt8] = [:]
    for epoch in circle.epochs.values.sorted(by: { $0.number < $1.number }) {
      for (index, card) in circle.holders(of: epoch) { indices[card] = index }
    }
    let known = indices
    let peers = try recovering.likelyHolders(header).filter { known[$0.digest] != nil }
    let found = await limitedConcurrency(peers, limit: 8) { [self] peer -> (any PieceSource)? in
      guard let index = known[peer.digest], let recipient = try? directory.recipient(peer),
        let asker = try? asker(header.id, goesOn: true), let answer = try? await links.ask(asker, of: recipient)
      else { return nil }
      return SessionPieces(
        conversation: answer.conversation, request: answer.request, header: header, index: index,
        asked: AskedPieces(request: answer.request, pieceCount: header.dispersal.stripeCount))
    }
    // Two may have the same fragment after several changes.
    var sources: [UInt8: any PieceSource] = [:]
    let sent = try parcelSources(circle, besides: Set(found.compactMap { $0?.index }))
    for source in found.compactMap(\.self) + sent {
      if sources[source.index] == nil { sources[source.index] = source } else { await source.close() }
    }
    return sources.sorted { $0.key < $1.key }.map(\.value)
  }
}

/// Encodes one fragment's pieces out of a ciphertext that passes by.
private struct RowKeeper: CiphertextSink {
  let header: SecretHeader
  let index: UInt8
  let partial: PartialFragment
  let reserve: DiskReserve
  private var receiver: DepositReceiver
  private var leaves = LeafList()
  private var next: UInt64 = 0
  private let encoder: StripeEncoder?

  init(header: SecretHeader, index: UInt8, partial: PartialFragment, reserve: DiskReserve) {
    self.header = header
    self.index = index
    self.partial = partial
    self.reserve = reserve
    receiver = DepositReceiver(header: header, index: index)
    encoder = try? StripeEncoder(header.dispersal)
  }

  mutating func begin(_ batch: inout CiphertextBatch) async throws {}

  mutating func append(_ batch: CiphertextBatch) throws {
    let plan = header.dispersal
    guard let encoder else { throw VaultError(.other, "the fragment can't be encoded") }
    var start = 0
    while start < batch.count {
      let count = plan.stripeDataByteCount(next)
      let pieceByteCount = plan.pieceByteCount(next)
      guard count > 0, start + count <= batch.count, reserve.allows(UInt64(pieceByteCount)) else {
        throw start + count <= batch.count
          ? VaultError(StoreError.diskFull(path: "this device's disk")) : VaultError(.other, "a stripe is incomplete")
      }
      var pieces = [UInt8](repeating: 0, count: plan.fragmentCount * pieceByteCount)
      try batch.bytes.withUnsafeBytes { bytes in
        try pieces.withUnsafeMutableBytes { output in
          try encoder.encode(
            stripe: next, data: UnsafeRawBufferPointer(rebasing: bytes[start..<(start + count)]), into: output)
        }
      }
      let first = (Int(index) - 1) * pieceByteCount
      let piece = Array(pieces[first..<(first + pieceByteCount)])
      leaves.append(try receiver.take(number: next, bytes: piece.span.bytes))
      try partial.append(piece.span.bytes)
      next += 1
      start += count
    }
  }

  mutating func finish() throws {
    try receiver.verify()
    try FragmentTree(header: header, index: index, partial: partial, leaves: leaves).write()
    try partial.finish()
  }
}
