import Concurrency
import SealedPayload
import ShamirKit
import Sodium
import VaultStore

/// Encrypts a file and spreads the ciphertext over n staged fragment files, in constant memory and on all cores.
///
/// A batch of stripes at a time. While the stripes of one batch are erasure-coded, hashed and written, each by whichever
/// thread is free and while it is still in that core's cache, the next batch is read and encrypted. Each fragment file
/// ends with its Merkle tree, so that a holder can later prove single pieces.
struct FragmentDispersal {
  static let batchByteTarget = 8 << 20

  let plan: DispersalPlan
  let secret: SecretID
  let staging: FragmentStaging
  let progress: (_ ciphertextBytes: UInt64) -> Void

  private struct Batch {
    let first: UInt64
    let count: Int
  }

  /// Runs the whole of `source` through `sealer` and returns the fragments' roots in order of index.
  func run(_ source: any PlaintextSource, through sealer: inout PayloadSealer) throws -> [Digest] {
    let encoder = try StripeEncoder(plan)
    let layout = try MerkleLayout(leafCount: plan.stripeCount)
    var accumulators = [MerkleAccumulator](repeating: MerkleAccumulator(), count: plan.fragmentCount)
    let pool = BufferPool(byteCount: plan.fragmentCount * plan.maximumPieceByteCount)
    var batch = batch(at: 0)
    var current = [UInt8](repeating: 0, count: batch.count * plan.maximumStripeByteCount)
    var ahead = [UInt8](repeating: 0, count: plan.stripeCount > UInt64(batch.count) ? current.count : 0)
    try fill(&current, batch, source, &sealer)
    var done: UInt64 = 0
    while batch.count > 0 {
      if Task.isCancelled { throw VaultError(.interrupted, "sharing was interrupted; nothing was shared") }
      let next = self.batch(at: batch.first + UInt64(batch.count))
      let leaves = try disperse(current, batch, encoder, pool, filling: &ahead, next, source, &sealer)
      try keep(leaves, of: batch, layout, &accumulators)
      done += UInt64(byteCount(of: batch))
      progress(done)
      swap(&current, &ahead)
      batch = next
    }
    // The source must end exactly here; the sealer checks it when it is asked for more.
    var extra = [UInt8](repeating: 0, count: 1)
    guard try seal(&extra, 1, source, &sealer) == 0 else {
      throw VaultError(.other, "the encrypted file is longer than planned; nothing was shared")
    }
    try writeTrees(layout)
    return try accumulators.map { accumulator in try accumulator.root() }
  }

  /// The stripes from `first` on, as many as fit; none at the end.
  private func batch(at first: UInt64) -> Batch {
    let limit = UInt64(max(1, Self.batchByteTarget / plan.maximumStripeByteCount))
    return Batch(first: first, count: Int(min(limit, plan.stripeCount - first)))
  }

  /// Bytes of ciphertext in a batch.
  private func byteCount(of batch: Batch) -> Int {
    (0..<batch.count).reduce(0) { $0 + plan.stripeDataByteCount(batch.first + UInt64($1)) }
  }

  /// Encrypts the stripes of `batch` into `ciphertext`.
  private func fill(
    _ ciphertext: inout [UInt8], _ batch: Batch, _ source: any PlaintextSource, _ sealer: inout PayloadSealer
  ) throws {
    let wanted = byteCount(of: batch)
    guard try seal(&ciphertext, wanted, source, &sealer) == wanted else {
      throw VaultError(.other, "the encrypted file is shorter than planned; nothing was shared")
    }
  }

  private func seal(
    _ ciphertext: inout [UInt8], _ wanted: Int, _ source: any PlaintextSource, _ sealer: inout PayloadSealer
  ) throws -> Int {
    do {
      return try ciphertext.withUnsafeMutableBytes { buffer in
        try sealer.next(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])) { try source.read(into: $0) }
      }
    } catch PayloadError.sourceTooShort, PayloadError.sourceTooLong {
      throw VaultError(
        .inputOutput, "the file changed while it was read; nothing was shared",
        hint: "share it again once nobody writes to it")
    } catch {
      throw VaultError(known: error) ?? VaultError(.other, "encrypting failed: \(error); nothing was shared")
    }
  }

  /// Makes and stores the pieces of `batch`, and fills `ahead` with the next one meanwhile. Returns the pieces' leaf hashes,
  /// one fragment's after the other's.
  private func disperse(
    _ ciphertext: [UInt8], _ batch: Batch, _ encoder: StripeEncoder, _ pool: BufferPool, filling ahead: inout [UInt8],
    _ next: Batch, _ source: any PlaintextSource, _ sealer: inout PayloadSealer
  ) throws -> [UInt8] {
    var leaves = [UInt8](repeating: 0, count: batch.count * plan.fragmentCount * Digest.byteCount)
    // One piece of work alone touches source, sealer and the next batch, and every other one the leaves of its stripe.
    nonisolated(unsafe) let this = self
    nonisolated(unsafe) let source = source
    try ciphertext.withUnsafeBytes { data in
      nonisolated(unsafe) let data = data
      try leaves.withUnsafeMutableBytes { leaves in
        nonisolated(unsafe) let leaves = leaves
        try withUnsafeMutablePointer(to: &ahead) { ahead in
          nonisolated(unsafe) let ahead = ahead
          try withUnsafeMutablePointer(to: &sealer) { sealer in
            nonisolated(unsafe) let sealer = sealer
            let filling = next.count > 0 ? 1 : 0
            try ParallelWork.run(batch.count + filling) { number in
              guard number >= filling else { return try this.fill(&ahead.pointee, next, source, &sealer.pointee) }
              try this.disperse(data, number - filling, batch, encoder, pool, into: leaves)
            }
          }
        }
      }
    }
    return leaves
  }

  /// Encodes, hashes and writes one stripe.
  private func disperse(
    _ ciphertext: UnsafeRawBufferPointer, _ offset: Int, _ batch: Batch, _ encoder: StripeEncoder, _ pool: BufferPool,
    into leaves: UnsafeMutableRawBufferPointer
  ) throws {
    let stripe = batch.first + UInt64(offset)
    let length = plan.pieceByteCount(stripe)
    // Only the last stripe of all is shorter, so every earlier one in the batch is full.
    let start = offset * plan.maximumStripeByteCount
    let data = UnsafeRawBufferPointer(rebasing: ciphertext[start..<(start + plan.stripeDataByteCount(stripe))])
    try pool.withBuffer { buffer in
      let pieces = UnsafeMutableRawBufferPointer(rebasing: buffer[..<(plan.fragmentCount * length)])
      do { try encoder.encode(stripe: stripe, data: data, into: pieces) } catch {
        throw VaultError(.other, "encoding failed: \(error)")
      }
      for position in 0..<plan.fragmentCount {
        let piece = UnsafeRawBufferPointer(rebasing: pieces[(position * length)..<((position + 1) * length)])
        let leaf: Digest
        do {
          leaf = try MerkleLeaf.digest(secret: secret, fragment: UInt8(position + 1), piece: stripe, bytes: piece)
        } catch {
          throw VaultError(.other, "hashing a fragment failed: \(error)")
        }
        let place = (position * batch.count + offset) * Digest.byteCount
        leaf.bytes.withUnsafeBytes {
          UnsafeMutableRawBufferPointer(rebasing: leaves[place..<(place + Digest.byteCount)]).copyMemory(from: $0)
        }
        try staging.write(RawSpan(_unsafeBytes: piece), index: position + 1, at: Int64(plan.pieceOffset(stripe)))
      }
    }
  }

  /// Takes a batch's leaves into the fragments' roots and writes them into the fragments' trees.
  private func keep(
    _ leaves: [UInt8], of batch: Batch, _ layout: MerkleLayout, _ accumulators: inout [MerkleAccumulator]
  ) throws {
    let size = batch.count * Digest.byteCount
    for position in 0..<plan.fragmentCount {
      let own = leaves[(position * size)..<((position + 1) * size)]
      do {
        for offset in 0..<batch.count {
          let start = own.startIndex + offset * Digest.byteCount
          try accumulators[position].append(leaf: Digest(Array(own[start..<(start + Digest.byteCount)])))
        }
      } catch {
        throw VaultError(.other, "hashing a fragment failed: \(error)")
      }
      let tree = Int64(plan.fragmentByteCount) + Int64(layout.offset(level: 0, index: batch.first))
      try staging.write(Array(own).span.bytes, index: position + 1, at: tree)
    }
  }

  /// Computes the upper levels of every fragment's tree behind its leaves.
  private func writeTrees(_ layout: MerkleLayout) throws {
    let start = Int64(clamping: plan.fragmentByteCount)
    for index in 1...plan.fragmentCount {
      _ = try MerkleTreeBuilder(layout).build(
        read: { offset, count in
          try staging.read(index: index, at: start + Int64(clamping: offset), count: count)
        },
        write: { offset, bytes in
          try staging.write(bytes.span.bytes, index: index, at: start + Int64(clamping: offset))
        },
        failure: { VaultError(.other, "hashing a fragment failed: \($0)") })
    }
  }
}
