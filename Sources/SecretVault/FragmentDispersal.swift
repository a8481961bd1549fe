import Dispatch
import SealedPayload
import ShamirKit
import Sodium
import Synchronization
import VaultProtocol
import VaultStore

/// Encrypts a file and spreads the ciphertext over n staged fragment files, in constant memory and on all cores.
///
/// A batch of stripes at a time: encrypted, erasure-coded, and then, fragment by fragment in parallel, hashed and written.
/// Each fragment file ends with its Merkle tree, so that a holder can later prove single pieces.
struct FragmentDispersal {
  static let batchByteTarget = 4 << 20

  let plan: DispersalPlan
  let secret: SecretID
  let staging: FragmentStaging
  let progress: (_ ciphertextBytes: UInt64) -> Void

  /// Runs the whole of `source` through `sealer` and returns the fragments' roots in order of index.
  func run(_ source: any PlaintextSource, through sealer: inout PayloadSealer) throws(VaultError) -> [Digest] {
    let batch = UInt64(max(1, Self.batchByteTarget / plan.maximumStripeByteCount))
    var ciphertext = [UInt8](repeating: 0, count: Int(batch) * plan.maximumStripeByteCount)
    var pieces = [UInt8](
      repeating: 0, count: Int(batch) * plan.fragmentCount * plan.maximumPieceByteCount)
    var accumulators = [MerkleAccumulator](repeating: MerkleAccumulator(), count: plan.fragmentCount)
    let encoder = try shamir { () throws(ShamirError) in try StripeEncoder(plan) }
    let layout = try shamir { () throws(ShamirError) in try MerkleLayout(leafCount: plan.stripeCount) }
    var position: UInt64 = 0
    var done: UInt64 = 0
    while position < plan.stripeCount {
      if Task.isCancelled { throw VaultError(.interrupted, "sharing was interrupted; nothing was shared") }
      let count = min(batch, plan.stripeCount - position)
      let wanted = (position..<(position + count)).reduce(0) { $0 + plan.stripeDataByteCount($1) }
      try fill(&ciphertext, wanted, source, &sealer)
      try encode(ciphertext, first: position, count: Int(count), encoder, into: &pieces)
      try store(pieces, first: position, count: Int(count), layout, &accumulators)
      done += UInt64(wanted)
      position += count
      progress(done)
    }
    // The source must end exactly here; the sealer checks it when it is asked for more.
    var extra = [UInt8](repeating: 0, count: 1)
    guard try seal(&extra, 1, source, &sealer) == 0 else {
      throw VaultError(.other, "the encrypted file is longer than planned; nothing was shared")
    }
    try writeTrees(layout)
    return try accumulators.map { (accumulator) throws(VaultError) in
      try shamir { () throws(ShamirError) in try accumulator.root() }
    }
  }

  private func fill(
    _ ciphertext: inout [UInt8], _ wanted: Int, _ source: any PlaintextSource, _ sealer: inout PayloadSealer
  ) throws(VaultError) {
    guard try seal(&ciphertext, wanted, source, &sealer) == wanted else {
      throw VaultError(.other, "the encrypted file is shorter than planned; nothing was shared")
    }
  }

  private func seal(
    _ ciphertext: inout [UInt8], _ wanted: Int, _ source: any PlaintextSource, _ sealer: inout PayloadSealer
  ) throws(VaultError) -> Int {
    var failure: VaultError?
    do {
      return try ciphertext.withUnsafeMutableBytes { buffer in
        try sealer.next(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])) { target in
          do throws(VaultError) { return try source.read(into: target) } catch {
            failure = error
            throw error
          }
        }
      }
    } catch {
      if let failure { throw failure }
      switch error {
      case PayloadError.sourceTooShort, PayloadError.sourceTooLong:
        throw VaultError(
          .inputOutput, "the file changed while it was read; nothing was shared",
          hint: "share it again once nobody writes to it")
      default: throw VaultError(.other, "encrypting failed: \(error); nothing was shared")
      }
    }
  }

  private func encode(
    _ ciphertext: [UInt8], first: UInt64, count: Int, _ encoder: StripeEncoder, into pieces: inout [UInt8]
  ) throws(VaultError) {
    let outcome = Mutex<ShamirError?>(nil)
    let plan = plan
    let slot = plan.fragmentCount * plan.maximumPieceByteCount
    ciphertext.withUnsafeBytes { data in
      pieces.withUnsafeMutableBytes { target in
        nonisolated(unsafe) let target = target
        nonisolated(unsafe) let data = data
        DispatchQueue.concurrentPerform(iterations: count) { offset in
          let stripe = first + UInt64(offset)
          // Only the last stripe of all is shorter, so every earlier one in the batch is full.
          let start = offset * plan.maximumStripeByteCount
          let stripeData = UnsafeRawBufferPointer(
            rebasing: data[start..<(start + plan.stripeDataByteCount(stripe))])
          let length = plan.fragmentCount * plan.pieceByteCount(stripe)
          let output = UnsafeMutableRawBufferPointer(rebasing: target[(offset * slot)..<(offset * slot + length)])
          do throws(ShamirError) {
            try encoder.encode(stripe: stripe, data: stripeData, into: output)
          } catch {
            outcome.withLock { $0 = error }
          }
        }
      }
    }
    if let error = outcome.withLock({ $0 }) { throw VaultError(.other, "encoding failed: \(error)") }
  }

  private func store(
    _ pieces: [UInt8], first: UInt64, count: Int, _ layout: MerkleLayout, _ accumulators: inout [MerkleAccumulator]
  ) throws(VaultError) {
    let outcome = Mutex<VaultError?>(nil)
    let plan = plan
    let slot = plan.fragmentCount * plan.maximumPieceByteCount
    let secret = secret
    let staging = staging
    pieces.withUnsafeBytes { source in
      accumulators.withUnsafeMutableBufferPointer { accumulators in
        nonisolated(unsafe) let source = source
        nonisolated(unsafe) let accumulators = accumulators
        DispatchQueue.concurrentPerform(iterations: plan.fragmentCount) { position in
          let index = position + 1
          var leaves: [UInt8] = []
          leaves.reserveCapacity(count * Digest.byteCount)
          do {
            for offset in 0..<count {
              let stripe = first + UInt64(offset)
              let length = plan.pieceByteCount(stripe)
              let start = offset * slot + position * length
              let piece = RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: source[start..<(start + length)]))
              let leaf = try MerkleLeaf.digest(
                secret: secret, fragment: UInt8(index), piece: stripe, bytes: piece)
              try accumulators[position].append(leaf: leaf)
              leaves += leaf.bytes
              try staging.write(piece, index: index, at: Int64(plan.pieceOffset(stripe)))
            }
            let tree = Int64(plan.fragmentByteCount) + Int64(layout.offset(level: 0, index: first))
            try staging.write(leaves.span.bytes, index: index, at: tree)
          } catch let error as StoreError {
            outcome.withLock { $0 = VaultError(error) }
          } catch {
            outcome.withLock { $0 = VaultError(.other, "hashing a fragment failed: \(error)") }
          }
        }
      }
    }
    if let error = outcome.withLock({ $0 }) { throw error }
  }

  /// Computes the upper levels of every fragment's tree behind its leaves.
  private func writeTrees(_ layout: MerkleLayout) throws(VaultError) {
    let start = Int64(clamping: plan.fragmentByteCount)
    for index in 1...plan.fragmentCount {
      _ = try MerkleTreeBuilder(layout).build(
        read: { (offset, count) throws(VaultError) in
          try stored { () throws(StoreError) in
            try staging.read(index: index, at: start + Int64(clamping: offset), count: count)
          }
        },
        write: { (offset, bytes) throws(VaultError) in
          try stored { () throws(StoreError) in
            try staging.write(bytes.span.bytes, index: index, at: start + Int64(clamping: offset))
          }
        },
        failure: { VaultError(.other, "hashing a fragment failed: \($0)") })
    }
  }
}
