import PeerAuth
import SealedPayload
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// The way of a file into fragments and back without peers between: what ``Sharing/share(_:events:)`` does before anything is
/// sent, and ``Recovering/recover(_:to:events:)`` once all sources are there, by the same code. Only for measuring these apart.
package struct LocalPipeline {
  /// A point that the work has reached, to look at the clock.
  package enum Stage: Sendable {
    /// Everything is encrypted, hashed and in the fragments' files; or decoded, verified and in the output's.
    case processed
    /// It is durable and has its name.
    case durable
  }

  private let folders: VaultFolders
  private let reached: (Stage) -> Void

  /// Fragments lie below `folder`, laid out as in a vault. Beside them lie the header and, in the clear, the shares: what goes through here must be
  /// worth nothing.
  package init(folder: String, reached: @escaping (Stage) -> Void) throws {
    folders = VaultFolders(home: folder)
    self.reached = reached
    try folders.create()
  }

  /// Encrypts the file at `path` under a fresh key and spreads it over `count` fragments, of which `threshold` rebuild it.
  package func share(_ path: String, threshold: Int, count: Int) throws {
    do {
      let source = try FileSource(path: path)
      let name = Array("file".utf8)
      let payload = try PayloadHeader(kind: .file, fileName: name.span.bytes)
      let scheme = try ThresholdScheme(threshold: threshold, shareCount: count)
      let dealer = try Identity.generate()
      let nonce = try Randomness.bytes(SecretHeader.nonceByteCount)
      let id = try SecretHeader.id(dealerKey: dealer.keys.signing, nonce: nonce)
      let dealing = try Dealing.fresh(scheme)
      let key = try dealing.fileKey(for: id)
      var sealer = try PayloadSealer(key: key, header: payload, bodyByteCount: source.byteCount)
      let total = sealer.ciphertextByteCount
      let plan = try DispersalPlan(dataCount: threshold, fragmentCount: count, byteCount: total)
      let staging = try FragmentStore(folders).stage(count: count)
      defer { staging.close() }
      let roots = try FragmentDispersal(plan: plan, secret: id, staging: staging, progress: { _ in })
        .run(source, through: &sealer)
      reached(.processed)
      try staging.publish(as: id)
      // Nobody holds these: rows only have to be there.
      let rows = [Digest](repeating: roots[0], count: count)
      let header = try SecretHeader.sign(
        SecretHeader.Content(
          nonce: nonce, kind: PayloadKind.file.rawValue, scheme: scheme, createdAt: 0, ciphertextByteCount: total,
          description: "", labels: nil, commitments: dealing.commitments, roots: roots, rows: rows),
        by: dealer)
      try AtomicFile.write(header.bytes.span.bytes, to: headerPath, replacing: true)
      let shares = try Self.shares(dealing, scheme.threshold)
      try AtomicFile.write(shares.bytes, to: sharesPath, replacing: true)
      reached(.durable)
    } catch {
      throw VaultError(error)
    }
  }

  private var headerPath: String { folders.data + "/header" }
  private var sharesPath: String { folders.data + "/shares" }

  private static func shares(_ dealing: borrowing Dealing, _ threshold: Int) throws -> SecretBytes {
    var all = try SecretBytes(zeros: threshold * KeyShare.byteCount)
    for position in 0..<threshold {
      let share = try dealing.share(UInt8(position + 1))
      all.withUnsafeMutableBytes { target in
        share.bytes.withUnsafeBytes {
          UnsafeMutableRawBufferPointer(rebasing: target[(position * KeyShare.byteCount)...]).copyMemory(from: $0)
        }
      }
    }
    return all
  }

  /// Combines the shares and rebuilds the file at `path` from the first fragments that are not `missing`.
  package func recover(to path: String, missing: Set<Int>, environment: VaultEnvironment) async throws {
    do {
      let header = try SecretHeader(bytes: AtomicFile.read(headerPath, limit: SecretHeader.byteLimit))
      let shares = try AtomicFile.readSecret(sharesPath, count: header.scheme.threshold * KeyShare.byteCount)
      let key = try Self.key(header, shares)
      let plan = header.dispersal
      let left = (1...plan.fragmentCount).filter { !missing.contains($0) }
      let sources = try left.prefix(plan.dataCount).map { try source($0, header) }
      let assembly = FragmentAssembly(
        header: header,
        replace: { (_, failure, _) throws in throw VaultError(.damaged, failure.reason) },
        maySwitch: { false }, environment: environment, progress: { _ in })
      var sink = try PlaintextSink(
        key: key, byteCount: plan.byteCount, output: RecoveredOutput(.outside(.file(path: path, overwrites: false))),
        passwords: { (_) async throws in nil })
      try await assembly.run(from: sources, into: &sink)
      reached(.processed)
      _ = try sink.output.commit()
      reached(.durable)
    } catch {
      throw VaultError(error)
    }
  }

  private static func key(_ header: SecretHeader, _ shares: borrowing SecretBytes) throws -> SecretBytes {
    var collector = try ShareCollector(scheme: header.scheme, commitments: header.commitments)
    for position in 0..<header.scheme.threshold {
      let start = position * KeyShare.byteCount
      let bytes = try SecretBytes(copying: shares.bytes.extracting(start..<(start + KeyShare.byteCount)))
      let share = try KeyShare(index: UInt8(position + 1), bytes: bytes)
      try collector.add(share)
    }
    try collector.verify()
    return try collector.fileKey(for: header.id)
  }

  private func source(_ index: Int, _ header: SecretHeader) throws -> any PieceSource {
    let plan = header.dispersal
    let trailer = try MerkleLayout(leafCount: plan.stripeCount).totalByteCount
    let reader = try FragmentStore(folders).open(
      secretID: header.id, index: index, byteCount: Int64(clamping: plan.fragmentByteCount),
      trailerByteCount: Int64(clamping: trailer))
    return LocalPieces(reader: reader, header: header, index: UInt8(index))
  }
}
