import Dispatch
import SealedPayload
import ShamirKit
import Sodium
import VaultProtocol

/// Rebuilds the ciphertext from any k fragments, batch by batch, and checks all of it against the dealer's roots.
///
/// Pieces arrive verified against their own fragment's root. What is decoded is hashed as well, and at the end the roots of
/// the data fragments must come out: they commit to the whole ciphertext, so pieces that are each in order but decode to
/// something else convict the dealer. Memory: two batches of a few MiB, whatever the file's size.
struct FragmentAssembly {
  static let batchByteTarget = 2 << 20

  let header: SecretHeader
  /// Told of a source that failed at a piece; returns another one, or throws when there is none.
  let replace:
    @Sendable (_ failed: any PieceSource, LinkFailure, _ position: UInt64) async throws(VaultError) -> any PieceSource
  /// Whether somebody else could take a slow source's place.
  let maySwitch: @Sendable () async -> Bool
  let environment: VaultEnvironment
  let progress: (_ done: UInt64) -> Void

  /// Reads everything from `sources`, k of them with different indices, and hands verified plaintext to `output`.
  func run(
    from sources: [any PieceSource], into opener: inout PayloadOpener, output: inout RecoveredOutput
  ) async throws(VaultError) {
    let plan = header.dispersal
    var active = sources
    var decoder = try makeDecoder(active)
    var accumulators = [MerkleAccumulator](repeating: MerkleAccumulator(), count: plan.dataCount)
    let batch = UInt64(max(1, Self.batchByteTarget / plan.maximumStripeByteCount))
    var buffer = [UInt8](repeating: 0, count: plan.maximumStripeByteCount)
    var position: UInt64 = 0
    var done: UInt64 = 0
    var ahead = fetch(active, first: 0, count: min(batch, plan.stripeCount))
    defer { ahead.cancel() }
    while position < plan.stripeCount {
      let count = min(batch, plan.stripeCount - position)
      var fetched = await ahead.value
      if Task.isCancelled { throw VaultError(.interrupted, "recovery was interrupted") }
      for slot in active.indices {
        while case .failure(let failure) = fetched.results[slot] {
          if Task.isCancelled { throw VaultError(.interrupted, "recovery was interrupted") }
          active[slot] = try await replace(active[slot], failure, position)
          decoder = try makeDecoder(active)
          let again = fetch([active[slot]], first: position, count: count, pace: fetched.pace)
          fetched.results[slot] = await again.value.results.first ?? .failure(.hungUp)
        }
      }
      let next = position + count
      if next < plan.stripeCount {
        ahead = fetch(active, first: next, count: min(batch, plan.stripeCount - next))
      }
      let pieces = try fetched.results.map { (result) throws(VaultError) in
        do throws(LinkFailure) { return try result.get() } catch { throw VaultError(.other, error.reason) }
      }
      for offset in 0..<Int(count) {
        let stripe = position + UInt64(offset)
        try decode(stripe, offset, pieces, active, decoder, &accumulators, &buffer)
        let length = plan.stripeDataByteCount(stripe)
        try append(buffer, length, at: done, to: &opener, output: &output)
        done += UInt64(length)
      }
      progress(done)
      position = next
    }
    try verifyRoots(accumulators)
    try finish(&opener, output: &output)
  }

  private func makeDecoder(_ sources: [any PieceSource]) throws(VaultError) -> StripeDecoder {
    do {
      return try StripeDecoder(header.dispersal, available: sources.map(\.index))
    } catch {
      throw VaultError(.other, "the fragments at hand can't be combined: \(error)")
    }
  }

  private func decode(
    _ stripe: UInt64, _ offset: Int, _ pieces: [[VerifiedPiece]], _ active: [any PieceSource],
    _ decoder: StripeDecoder, _ accumulators: inout [MerkleAccumulator], _ buffer: inout [UInt8]
  ) throws(VaultError) {
    let plan = header.dispersal
    let length = plan.pieceByteCount(stripe)
    // One contiguous copy: the decoder wants all pieces at once, and arrays lend their memory one by one only.
    let joined = pieces.flatMap { $0[offset].bytes }
    do {
      try buffer.withUnsafeMutableBytes { target in
        try joined.withUnsafeBytes { source in
          try decoder.decode(
            stripe: stripe,
            pieces: pieces.indices.map {
              UnsafeRawBufferPointer(rebasing: source[($0 * length)..<(($0 + 1) * length)])
            },
            into: UnsafeMutableRawBufferPointer(rebasing: target[..<(length * plan.dataCount)]))
        }
      }
      for fragment in 1...plan.dataCount {
        let leaf: Digest
        if let slot = active.firstIndex(where: { Int($0.index) == fragment }) {
          leaf = pieces[slot][offset].leaf
        } else {
          let start = (fragment - 1) * length
          leaf = try MerkleLeaf.digest(
            secret: header.id, fragment: UInt8(fragment), piece: stripe,
            bytes: buffer.span.bytes.extracting(start..<(start + length)))
        }
        try accumulators[fragment - 1].append(leaf: leaf)
      }
    } catch {
      throw VaultError(.damaged, "the fragments can't be decoded: \(error)")
    }
  }

  /// Decrypts the next `length` bytes of ciphertext. The first chunk goes in by itself, because it tells the file's name.
  private func append(
    _ buffer: [UInt8], _ length: Int, at position: UInt64, to opener: inout PayloadOpener,
    output: inout RecoveredOutput
  ) throws(VaultError) {
    var failure: VaultError?
    var start = 0
    while start < length {
      let before = position + UInt64(start)
      let first = UInt64(opener.firstChunkByteCount)
      let end = before < first ? min(length, start + Int(first - before)) : length
      do {
        let taken = try buffer.withUnsafeBytes { bytes in
          try opener.append(UnsafeRawBufferPointer(rebasing: bytes[start..<end])) { plain in
            do throws(VaultError) { try output.take(plain) } catch {
              failure = error
              throw error
            }
          }
        }
        guard taken == end - start else { throw PayloadError.passwordRequired }
      } catch {
        throw failure ?? Self.damage(error)
      }
      if opener.needsPassword { throw Self.damage(PayloadError.passwordRequired) }
      try output.settle(opener)
      start = end
    }
  }

  /// Checks that the stream ends where it should, to the last zero of its padding.
  private func finish(_ opener: inout PayloadOpener, output: inout RecoveredOutput) throws(VaultError) {
    var failure: VaultError?
    do {
      try opener.finish { plain in
        do throws(VaultError) { try output.take(plain) } catch {
          failure = error
          throw error
        }
      }
    } catch {
      throw failure ?? Self.damage(error)
    }
    try output.settle(opener)
  }

  private func verifyRoots(_ accumulators: [MerkleAccumulator]) throws(VaultError) {
    for (position, accumulator) in accumulators.enumerated() {
      let root = try? accumulator.root()
      guard root == header.roots[position] else {
        throw VaultError(
          .damaged, "the dealer of this secret made fragments that don't fit together; nothing was written",
          hint: "every piece is exactly as the dealer signed it, so the fault is the dealer's; ask for the file again")
      }
    }
  }

  static func damage(_ error: any Error) -> VaultError {
    switch error {
    case let error as VaultError: error
    case PayloadError.wrongPassword: VaultError(.wrongPassphrase, "that is not the password of this secret")
    case PayloadError.passwordRequired:
      VaultError(
        .refused, "this secret is protected by a password as well, which this version of the program can't ask for",
        hint: "recover it with the program that shared it")
    default:
      // The key fits the commitments and every piece its signed root, so nobody but the dealer can be at fault.
      VaultError(
        .damaged, "the dealer of this secret made it so that it can't be decrypted; nothing was written",
        hint: "every share and piece is exactly as the dealer signed it; ask for the file again")
    }
  }

  private func fetch(
    _ active: [any PieceSource], first: UInt64, count: UInt64, pace: Double? = nil
  ) -> Task<BatchFetch.Outcome, Never> {
    let fetch = BatchFetch(
      sources: active, first: first, count: Int(count),
      byteCount: Int(count) * header.dispersal.maximumPieceByteCount, pace: pace, environment: environment,
      maySwitch: maySwitch)
    return Task { await fetch.run() }
  }
}
