import PeerAuth
import SealedPayload
import ShamirKit
import Sodium
import TestTime
import Synchronization
import VaultProtocol
import VaultStore

@testable import SecretVault

/// A secret dealt by hand, with whatever fault a test wants in it. Holder 1 has share 1.
final class ForgedSecret: Sendable {
  let dealer: Member
  let holders: [Member]
  let dealing: Dealing
  let header: SecretHeader
  let content: SecretHeader.Content
  let salts: [[UInt8]]
  let fragments: [[UInt8]]

  /// `corrupt` changes the fragments before their roots are computed and signed; `field` becomes a field of the payload's
  /// header; `kind` is what the public header calls a payload that is a file.
  init(
    by dealer: Member, to holders: [Member], threshold: Int, byteCount: Int = 2000, nonce: [UInt8]? = nil,
    description: String = "", kind: UInt8 = PayloadKind.file.rawValue, field: borrowing SecretBytes? = nil,
    corrupt: (inout [[UInt8]]) -> Void = { _ in }
  ) throws {
    let identity = dealer.vault.core.identity
    let scheme = try ThresholdScheme(threshold: threshold, shareCount: holders.count)
    let nonce = try nonce ?? Randomness.bytes(SecretHeader.nonceByteCount)
    let id = try SecretHeader.id(dealerKey: identity.keys.signing, nonce: nonce)
    let dealing = try Dealing.fresh(scheme)
    let ciphertext = try Self.ciphertext(of: byteCount, key: dealing.fileKey(for: id), field: field)
    let plan = try DispersalPlan(
      dataCount: threshold, fragmentCount: holders.count, byteCount: UInt64(ciphertext.count))
    var fragments = try Self.disperse(ciphertext, plan)
    corrupt(&fragments)
    let salts = try holders.map { _ in try Randomness.bytes(HolderRow.saltByteCount) }
    var rows: [Digest] = []
    for (position, holder) in holders.enumerated() {
      let salt = salts[position]
      rows.append(
        try HolderRow.digest(
          secret: id, index: UInt8(position + 1), card: holder.vault.core.identity.keys.digest, salt: salt.span.bytes))
    }
    let roots = try fragments.enumerated().map { try Self.root($1, UInt8($0 + 1), id, plan) }
    content = SecretHeader.Content(
      nonce: nonce, kind: kind, scheme: scheme, createdAt: dealer.environment.now(),
      ciphertextByteCount: UInt64(ciphertext.count), description: description, labels: nil,
      commitments: dealing.commitments, roots: roots, rows: rows)
    header = try SecretHeader.sign(content, by: identity)
    self.dealer = dealer
    self.holders = holders
    self.dealing = dealing
    self.salts = salts
    self.fragments = fragments
  }

  private static func ciphertext(
    of byteCount: Int, key: consuming SecretBytes, field: borrowing SecretBytes?
  ) throws -> [UInt8] {
    let plain = try Randomness.bytes(byteCount)
    let name = Array("forged.bin".utf8)
    var payload = try PayloadHeader(kind: .file, fileName: name.span.bytes)
    switch field {
    case .some(let value): try payload.add(field: "note", value: value.bytes)
    case .none: break
    }
    var sealer = try PayloadSealer(key: key, header: payload, bodyByteCount: UInt64(byteCount))
    var bytes = [UInt8](repeating: 0, count: Int(sealer.ciphertextByteCount))
    var taken = 0
    _ = try bytes.withUnsafeMutableBytes { buffer in
      try sealer.next(into: buffer) { target in
        let count = min(target.count, plain.count - taken)
        plain.withUnsafeBytes { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[taken..<(taken + count)])) }
        taken += count
        return count
      }
    }
    return bytes
  }

  private static func disperse(_ ciphertext: [UInt8], _ plan: DispersalPlan) throws -> [[UInt8]] {
    let encoder = try StripeEncoder(plan)
    var fragments = [[UInt8]](repeating: [], count: plan.fragmentCount)
    for stripe in 0..<plan.stripeCount {
      let length = plan.pieceByteCount(stripe)
      var pieces = [UInt8](repeating: 0, count: length * plan.fragmentCount)
      let start = Int(stripe) * plan.maximumStripeByteCount
      try pieces.withUnsafeMutableBytes { target in
        try ciphertext.withUnsafeBytes { source in
          try encoder.encode(
            stripe: stripe,
            data: UnsafeRawBufferPointer(rebasing: source[start..<(start + plan.stripeDataByteCount(stripe))]),
            into: target)
        }
      }
      for index in fragments.indices { fragments[index] += pieces[(index * length)..<((index + 1) * length)] }
    }
    return fragments
  }

  private static func root(_ fragment: [UInt8], _ index: UInt8, _ id: SecretID, _ plan: DispersalPlan) throws -> Digest
  {
    var accumulator = MerkleAccumulator()
    for stripe in 0..<plan.stripeCount {
      let piece = Self.piece(fragment, stripe, plan)
      try accumulator.append(
        leaf: MerkleLeaf.digest(secret: id, fragment: index, piece: stripe, bytes: piece.span.bytes))
    }
    return try accumulator.root()
  }

  private static func piece(_ fragment: [UInt8], _ number: UInt64, _ plan: DispersalPlan) -> [UInt8] {
    let start = Int(plan.pieceOffset(number))
    return Array(fragment[start..<(start + plan.pieceByteCount(number))])
  }

  /// A piece of a fragment as its holder should get it.
  func piece(_ index: Int, _ number: UInt64) -> [UInt8] {
    Self.piece(fragments[index - 1], number, header.dispersal)
  }

  /// The same secret under a header that differs in its description alone.
  func otherHeader(_ description: String) throws -> SecretHeader {
    var content = content
    content.description = description
    return try SecretHeader.sign(content, by: dealer.vault.core.identity)
  }

  /// A share sealed to its holder, with every part at choice.
  func sealed(
    _ index: Int, share: Int? = nil, salt: [UInt8]? = nil, header: SecretHeader? = nil, recipient: Member? = nil,
    dealer: Member? = nil
  ) throws -> [UInt8] {
    let number = UInt8(share ?? index)
    let chosen = salt ?? salts[index - 1]
    let salt = try SecretBytes(copying: chosen.span.bytes)
    let recipient = (recipient ?? holders[index - 1]).vault.core.identity.keys
    return try ForgedShare.seal(
      dealing.share(number), index: UInt8(index), salt: salt, header: (header ?? self.header).digest,
      dealer: (dealer ?? self.dealer).vault.core.identity.keys.digest, recipient: recipient)
  }

  /// What a dealer's program would send to the holder of share `index`.
  func job(
    _ index: Int, header: SecretHeader? = nil, sealed: [UInt8]? = nil,
    piece: (@Sendable (UInt64) throws -> [UInt8])? = nil,
    progress: @escaping @Sendable (Int) -> Void = { _ in }
  ) throws -> DepositAsker {
    let own = self
    let usual: @Sendable (UInt64) throws -> [UInt8] = { number in own.piece(index, number) }
    return DepositAsker(
      header: header ?? self.header, index: UInt8(index), sealedShare: try sealed ?? self.sealed(index, header: header),
      piece: piece ?? usual, progress: progress)
  }

  /// Delivers a job from a member (the dealer unless another is named) and returns the failure, if there is one.
  func deliver(_ job: DepositAsker, to holder: Member, from sender: Member? = nil) async throws -> LinkFailure? {
    let vault = (sender ?? dealer).vault
    let recipient = try vault.directory.recipient(vault.directory.find(holder.name))
    do throws(LinkFailure) { try await vault.links.ask(job, of: recipient) } catch { return error }
    return nil
  }

  /// Delivers every share.
  func deliverAll() async throws {
    for (position, holder) in holders.enumerated() where holder !== dealer {
      if let failure = try await deliver(job(position + 1), to: holder) { throw failure }
    }
  }
}

/// A sealed share put together part by part, without the checks of an honest dealer.
enum ForgedShare {
  static func seal(
    _ share: borrowing KeyShare, index: UInt8, salt: borrowing SecretBytes, header: Digest, dealer: Digest,
    recipient: CardKeys
  ) throws -> [UInt8] {
    let label = Array("vault/sealed-share/v1".utf8)
    var bytes: [UInt8] = [0, UInt8(label.count)] + label + header.bytes + [index] + dealer.bytes
    bytes += recipient.digest.bytes
    bytes += share.bytes.withUnsafeBytes { Array($0) } + salt.withUnsafeBytes { Array($0) }
    return try X25519.seal(SecretBytes(copying: bytes.span.bytes), to: recipient.box)
  }
}

extension ForgedSecret {
  /// Delivers again after a cut, once the holder has noticed it and let go of what it was writing.
  func deliverOnceFree(_ job: DepositAsker, to holder: Member) async throws -> LinkFailure? {
    try await onceFree {
      let failure = try await deliver(job, to: holder)
      return failure?.refusal == .busy ? nil : .some(failure)
    }
  }
}

/// Counts from any task.
final class Counter: Sendable {
  private let count = Mutex(0)
  var value: Int { count.withLock { $0 } }
  func increment() {
    count.withLock { $0 += 1 }
    Happenings.deed()
  }
}
