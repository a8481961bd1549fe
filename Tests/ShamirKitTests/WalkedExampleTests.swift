import Foundation
import Sodium
import Testing
import WireCodec

@testable import ShamirKit

/// The example of docs/formats/shamirkit.md, made again from its fixed inputs.
@Suite struct WalkedExampleTests {
  private func repeated(_ byte: UInt8, _ count: Int) -> [UInt8] { [UInt8](repeating: byte, count: count) }

  private func secretID() throws -> SecretID { try SecretID(Array(0..<16)) }

  private func dealing() throws -> Dealing {
    let scheme = try ThresholdScheme(threshold: 2, shareCount: 3)
    let random = (UInt8(1)...4).flatMap { repeated($0, 64) }
    let wide = try SecretBytes(copying: random.span.bytes)
    return try Dealing(scheme, wideCoefficients: wide)
  }

  private func collectedKey(_ dealing: borrowing Dealing) throws -> [UInt8] {
    var collector = try collector(dealing, [1, 3])
    try collector.verify()
    let key = try collector.fileKey(for: secretID())
    return exposed(key)
  }

  private func dealtKey(_ dealing: borrowing Dealing) throws -> [UInt8] {
    let key = try dealing.fileKey(for: secretID())
    return exposed(key)
  }

  private func sharedBytes(_ dealing: borrowing Dealing, _ index: UInt8) throws -> [UInt8] {
    let share = try dealing.share(index)
    return exposed(share)
  }

  private func statement(_ evaluation: RistrettoPoint) throws -> PossessionStatement {
    let context = try ProofContext(
      kind: .session, binding: repeated(0x22, 32), proverCard: Digest(repeated(0x33, 32)),
      verifierCard: Digest(repeated(0x44, 32)), role: .requester, verifierNonce: repeated(0x55, 32))
    return try PossessionStatement(
      purpose: .release, headerDigest: Digest(repeated(0x11, 32)), secretID: secretID(), epoch: 0, index: 3,
      evaluation: evaluation, context: context)
  }

  private func proof(_ share: borrowing KeyShare, _ statement: PossessionStatement) throws -> [UInt8] {
    let random = repeated(0x66, 64)
    let freshness = try SecretBytes(copying: random.span.bytes)
    let proof = try PossessionProof.prove(share, statement, freshness: freshness)
    try proof.verify(statement)
    return try proof.encoded()
  }

  private func sharing() throws -> [(String, [UInt8])] {
    let dealing = try dealing()
    let commitments = dealing.commitments
    let evaluation = try commitments.evaluation(at: 3)
    var shares: [[UInt8]] = []
    for index in UInt8(1)...3 { shares.append(try sharedBytes(dealing, index)) }
    let statement = try statement(evaluation)
    let proof = try proof(share(3, shares[2]), statement)
    let key = try dealtKey(dealing)
    let collected = try collectedKey(dealing)
    #expect(collected == key)
    return [
      ("secret id", try secretID().bytes), ("commitments", try commitments.encoded()), ("share 1", shares[0]),
      ("share 2", shares[1]), ("share 3", shares[2]), ("Y_3", evaluation.bytes), ("file key", key), ("proof", proof),
    ]
  }

  private func dispersal() throws -> [(String, [UInt8])] {
    let plan = try DispersalPlan(dataCount: 2, fragmentCount: 3, byteCount: 70)
    let ciphertext = [UInt8](0..<70)
    var pieces = repeated(0xff, 192)
    try ciphertext.withUnsafeBytes { data in
      try pieces.withUnsafeMutableBytes { try StripeEncoder(plan).encode(stripe: 0, data: data, into: $0) }
    }
    let id = try SecretID(Array(0..<16))
    var leaves: [Digest] = []
    for piece in 0..<3 {
      let bytes = Array(pieces[(piece * 64)..<(piece * 64 + 64)])
      leaves.append(try MerkleLeaf.digest(secret: id, fragment: 3, piece: UInt64(piece), bytes: bytes.span.bytes))
    }
    var accumulator = MerkleAccumulator()
    for leaf in leaves { try accumulator.append(leaf: leaf) }
    let path = try MerklePath(siblings: [MerkleNode.digest(leaves[0], leaves[1])])
    try path.verify(leaf: leaves[2], number: 2, leafCount: 3, root: accumulator.root())
    return [
      ("piece of fragment 1", Array(pieces[..<64])), ("piece of fragment 2", Array(pieces[64..<128])),
      ("piece of fragment 3", Array(pieces[128...])), ("leaf 0", leaves[0].bytes), ("leaf 1", leaves[1].bytes),
      ("leaf 2", leaves[2].bytes), ("root", try accumulator.root().bytes), ("path of leaf 2", try path.encoded()),
    ]
  }

  /// Name and hexadecimal, 64 digits a line.
  private func rendered(_ values: [(String, [UInt8])]) -> String {
    values.map { name, bytes in
      let lines = stride(from: 0, to: bytes.count, by: 32).map { hexadecimal(bytes[$0..<min($0 + 32, bytes.count)]) }
      return "\(name)\n" + lines.map { "    \($0)\n" }.joined()
    }.joined()
  }

  private func documentation() throws -> String {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
    return try String(contentsOf: root.appending(path: "docs/formats/shamirkit.md"), encoding: .utf8)
  }

  @Test func theDocumentedSharingIsWhatThisCodeMakes() throws {
    let text = try rendered(sharing())
    #expect(try documentation().contains("```\n\(text)```"), "expected:\n\(text)")
  }

  @Test func theDocumentedDispersalIsWhatThisCodeMakes() throws {
    let text = try rendered(dispersal())
    #expect(try documentation().contains("```\n\(text)```"), "expected:\n\(text)")
  }
}
