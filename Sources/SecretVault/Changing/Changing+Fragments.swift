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
    let header = circle.header
    guard core.diskReserve.allows(header.dispersal.fragmentByteCount) else {
      throw VaultError(StoreError.diskFull(path: folders.data))
    }
    var sources = try await sources(circle)
    guard sources.count >= header.dispersal.dataCount else {
      for source in sources { await source.close() }
      try writeForPieces(
        circle, index, besides: Set(sources.filter { !($0 is ParcelPieces) }.compactMap(\.holder?.digest)))
      return nil
    }
    let spare = Mutex(Array(sources.dropFirst(header.dispersal.dataCount)))
    sources = Array(sources.prefix(header.dispersal.dataCount))
    let partial: PartialFragment
    do { partial = try openPartial(index, header, from: proposal.asker.digest) } catch {
      for source in sources { await source.close() }
      throw error
    }
    var keeper = RowKeeper(header: header, index: index, partial: partial, reserve: core.diskReserve)
    let assembly = FragmentAssembly(
      header: header,
      replace: { failed, failure, _ in
        await failed.close()
        guard let next = spare.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else {
          throw VaultError(failure, peer: failed.holder?.name ?? "a holder")
        }
        return next
      },
      maySwitch: { spare.withLock { !$0.isEmpty } }, environment: environment, progress: { _ in })
    do {
      try await assembly.run(from: sources, into: &keeper)
    } catch {
      for source in sources + spare.withLock({ $0 }) { await source.close() }
      try? database.discardPartial(of: header.id, index: Int(index))
      throw error
    }
    for source in sources + spare.withLock({ $0 }) { await source.close() }
    return FragmentRecord(
      completeOf: header.id, index: Int(index), byteCount: partial.byteCount,
      trailerByteCount: Int64(clamping: try MerkleLayout(leafCount: header.dispersal.stripeCount).totalByteCount),
      pieces: partial.pieceCount, headerDigest: header.digest, source: proposal.asker.digest)
  }

  private func openPartial(_ index: UInt8, _ header: SecretHeader, from asker: Digest) throws -> PartialFragment {
    let plan = header.dispersal
    guard let byteCount = Int64(exactly: plan.fragmentByteCount),
      let trailer = Int64(exactly: try MerkleLayout(leafCount: plan.stripeCount).totalByteCount)
    else { throw VaultError(.damaged, "a fragment of this size can't be kept") }
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
