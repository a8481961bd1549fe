import Concurrency
import ShamirKit
import Sodium
import Synchronization
import VaultProtocol

/// Rebuilds the ciphertext from any k fragments, batch by batch, and checks all of it against the dealer's roots.
///
/// Pieces arrive verified against their own fragment's root. What is decoded is hashed as well, and at the end the roots of
/// the data fragments must come out: they commit to the whole ciphertext, so pieces that are each in order but decode to
/// something else convict the dealer.
///
/// Three batches are under way at once: one is fetched, the one before it decoded and hashed, and the one before that
/// passed on, as a rule decrypted and written. Memory: some batches of a few MiB, whatever the file's size.
struct FragmentAssembly {
  static let batchByteTarget = 2 << 20

  let header: SecretHeader
  /// Told of a source that failed at a piece; returns another one, or throws when there is none.
  let replace: @Sendable (_ failed: any PieceSource, LinkFailure, _ position: UInt64) async throws -> any PieceSource
  /// Whether somebody else could take a slow source's place.
  let maySwitch: @Sendable () async -> Bool
  let environment: VaultEnvironment
  let progress: (_ done: UInt64) -> Void

  /// Reads everything from `sources`, k of them with different indices, and hands it to `sink`.
  func run<Sink: CiphertextSink & ~Copyable>(from sources: [any PieceSource], into sink: inout Sink) async throws {
    let plan = header.dispersal
    var active = sources
    var decoder = try makeDecoder(active)
    var accumulators = [MerkleAccumulator](repeating: MerkleAccumulator(), count: plan.dataCount)
    let batch = UInt64(max(1, Self.batchByteTarget / plan.maximumStripeByteCount))
    let size = Int(min(batch, plan.stripeCount)) * plan.maximumStripeByteCount
    var current = [UInt8](repeating: 0, count: size)
    var decoded = CiphertextBatch(bytes: [UInt8](repeating: 0, count: plan.stripeCount > batch ? size : 0))
    var position: UInt64 = 0
    var arrivedAhead = ArrivedPieces()
    var ahead = fetch(active, first: 0, count: min(batch, plan.stripeCount), arrivedAhead)
    defer { ahead.cancel() }
    while position < plan.stripeCount {
      let count = min(batch, plan.stripeCount - position)
      let arrived = arrivedAhead
      var fetched = await Self.outcome(of: ahead)
      if Task.isCancelled { throw VaultError(.interrupted, "recovery was interrupted") }
      for slot in active.indices {
        while case .failure(let failure) = fetched.results[slot] {
          if Task.isCancelled { throw VaultError(.interrupted, "recovery was interrupted") }
          let due = position + UInt64(arrived.count(of: active[slot].index))
          active[slot] = try await replace(active[slot], failure, due)
          decoder = try makeDecoder(active)
          let again = fetch([active[slot]], first: position, count: count, arrived, pace: fetched.pace)
          fetched.results[slot] = await Self.outcome(of: again).results.first ?? .failure(.hungUp)
        }
      }
      let next = position + count
      if next < plan.stripeCount {
        arrivedAhead = ArrivedPieces()
        ahead = fetch(active, first: next, count: min(batch, plan.stripeCount - next), arrivedAhead)
      }
      // The first chunk tells whether there is a password, and everything behind it waits for that.
      try await sink.begin(&decoded)
      let pieces = try fetched.results.map { result in
        do throws(LinkFailure) { return try result.get() } catch { throw VaultError(.other, error.reason) }
      }
      let stripes = Stripes(first: position, count: Int(count), pieces: pieces, sources: active.map(\.index))
      let leaves = try decode(stripes, decoder, into: &current, passing: decoded, to: &sink)
      if decoded.end > 0 { progress(decoded.end) }
      try keep(leaves, of: stripes, in: &accumulators)
      let end = decoded.end
      swap(&current, &decoded.bytes)
      decoded.start = end
      decoded.taken = 0
      decoded.count = (0..<count).reduce(0) { $0 + plan.stripeDataByteCount(position + $1) }
      position = next
    }
    try await sink.begin(&decoded)
    try sink.append(decoded)
    progress(decoded.end)
    try verifyRoots(accumulators)
    try sink.finish()
  }

  /// What came of a batch: for each source its pieces, in the order of the stripes.
  private struct Stripes {
    let first: UInt64
    let count: Int
    let pieces: [[VerifiedPiece]]
    let sources: [UInt8]
  }

  private func makeDecoder(_ sources: [any PieceSource]) throws -> StripeDecoder {
    do { return try StripeDecoder(header.dispersal, available: sources.map(\.index)) } catch {
      throw VaultError(.other, "the fragments at hand can't be combined: \(error)")
    }
  }

  /// Decodes and hashes a batch, one stripe each on whichever thread is free, while the sink takes the batch before it, which
  /// as a rule means decrypting and writing. Returns the leaf hashes of the data fragments, stripe by stripe.
  private func decode<Sink: CiphertextSink & ~Copyable>(
    _ stripes: Stripes, _ decoder: StripeDecoder, into ciphertext: inout [UInt8], passing before: CiphertextBatch,
    to sink: inout Sink
  ) throws -> [Digest] {
    let plan = header.dispersal
    let leaves = Mutex([Digest?](repeating: nil, count: stripes.count * plan.dataCount))
    // One piece of work alone touches the sink, and every other one the ciphertext of its stripe.
    nonisolated(unsafe) let this = self
    try ciphertext.withUnsafeMutableBytes { target in
      nonisolated(unsafe) let target = target
      try withUnsafeMutablePointer(to: &sink) { sink in
        nonisolated(unsafe) let sink = sink
        let passing = before.count > before.taken ? 1 : 0
        try ParallelWork.run(stripes.count + passing) { number in
          guard number >= passing else { return try sink.pointee.append(before) }
          let offset = number - passing
          let start = offset * plan.maximumStripeByteCount
          let length = plan.dataCount * plan.pieceByteCount(stripes.first + UInt64(offset))
          let own = try this.decode(
            stripes, offset, decoder,
            into: UnsafeMutableRawBufferPointer(rebasing: target[start..<(start + length)]))
          leaves.withLock { $0.replaceSubrange(offset * plan.dataCount..<(offset + 1) * plan.dataCount, with: own) }
        }
      }
    }
    return leaves.withLock { $0.compactMap(\.self) }
  }

  /// Decodes one stripe and returns the leaf hashes of its data pieces.
  private func decode(
    _ stripes: Stripes, _ offset: Int, _ decoder: StripeDecoder, into data: UnsafeMutableRawBufferPointer
  ) throws -> [Digest?] {
    let stripe = stripes.first + UInt64(offset)
    let length = header.dispersal.pieceByteCount(stripe)
    var failure: ShamirError?
    var collected: [UnsafeRawBufferPointer] = []
    withPointers(to: stripes.pieces, at: offset, &collected) { pieces in
      do throws(ShamirError) { try decoder.decode(stripe: stripe, pieces: pieces, into: data) } catch {
        failure = error
      }
    }
    do {
      if let failure { throw failure }
      return try (1...header.dispersal.dataCount).map { fragment in
        if let slot = stripes.sources.firstIndex(of: UInt8(fragment)) { return stripes.pieces[slot][offset].leaf }
        let start = (fragment - 1) * length
        return try MerkleLeaf.digest(
          secret: header.id, fragment: UInt8(fragment), piece: stripe,
          bytes: UnsafeRawBufferPointer(rebasing: data[start..<(start + length)]))
      }
    } catch {
      throw VaultError(.damaged, "the fragments can't be decoded: \(error)")
    }
  }

  private func keep(_ leaves: [Digest], of stripes: Stripes, in accumulators: inout [MerkleAccumulator]) throws {
    let plan = header.dispersal
    guard leaves.count == stripes.count * plan.dataCount else { throw VaultError(.other, "a batch is incomplete") }
    for (position, leaf) in leaves.enumerated() {
      try accumulators[position % plan.dataCount].append(leaf: leaf)
    }
  }

  private func verifyRoots(_ accumulators: [MerkleAccumulator]) throws {
    for (position, accumulator) in accumulators.enumerated() {
      let root = try? accumulator.root()
      guard root == header.roots[position] else {
        throw VaultError(
          .damaged, "the dealer of this secret made fragments that don't fit together; nothing was written",
          hint: "every piece is exactly as the dealer signed it, so the fault is the dealer's; ask for the file again")
      }
    }
  }

  private func fetch(
    _ active: [any PieceSource], first: UInt64, count: UInt64, _ arrived: ArrivedPieces, pace: Double? = nil
  ) -> Task<BatchFetch.Outcome, Never> {
    let fetch = BatchFetch(
      sources: active, first: first, count: Int(count),
      byteCount: Int(count) * header.dispersal.maximumPieceByteCount, pace: pace, environment: environment,
      maySwitch: maySwitch, arrived: arrived)
    return Task { await fetch.run() }
  }

  /// Whoever ends the recovery ends what is fetched for it.
  private static func outcome(of fetch: Task<BatchFetch.Outcome, Never>) async -> BatchFetch.Outcome {
    await withTaskCancellationHandler {
      await fetch.value
    } onCancel: {
      fetch.cancel()
    }
  }
}

/// Lends the bytes of the pieces at `offset`, one source's each, behind those `collected` before. Arrays lend their memory
/// one by one only, hence the recursion, at most 255 deep.
private func withPointers(
  to pieces: [[VerifiedPiece]], at offset: Int, _ collected: inout [UnsafeRawBufferPointer],
  _ body: ([UnsafeRawBufferPointer]) -> Void
) {
  guard collected.count < pieces.count else { return body(collected) }
  pieces[collected.count][offset].bytes.withUnsafeBytes { bytes in
    collected.append(bytes)
    withPointers(to: pieces, at: offset, &collected, body)
  }
}
