import Foundation
import Logging
import PeerAuth
import SecretVault
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// Somebody with keys, as the vault that is measured knows them.
final class Person: Sendable {
  let identity: Identity
  let card: PeerCard

  init(_ name: String) throws {
    identity = try Identity.generate()
    card = try identity.card(label: name, serial: 1)
  }
}

/// A share of a secret that a requester holds, ready to prove with.
final class Claim: Sendable {
  let header: SecretHeader
  let requester: Person
  let share: KeyShare
  let salt: SecretBytes
  let evaluation: RistrettoPoint

  init(header: SecretHeader, requester: Person, share: consuming KeyShare, salt: consuming SecretBytes) throws {
    self.header = header
    self.requester = requester
    evaluation = try share.evaluation()
    self.share = share
    self.salt = salt
  }
}

/// A home with a real vault, filled by the store's own code: signed headers, sealed shares, fragment files.
final class LoadHome {
  static let threshold = 3
  static let shareCount = 5
  static let ciphertextByteCount: UInt64 = 1040

  let path: String
  let keys: CardKeys
  let people: [Person]
  private let database: VaultDatabase

  /// Makes the vault and imports `peers` peers.
  init(in directory: String, peers: Int) throws {
    path = "\(directory)/daemon-load-\(getpid())"
    let folders = VaultFolders(home: path)
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    FileManager.default.createFile(atPath: path + "/daemon.log", contents: nil)
    let vault = try Vault.create(
      at: folders, label: "holder", addresses: [], passphrase: nil, environment: Self.environment)
    keys = try vault.core.ownIdentity().card.keys
    people = try (0..<peers).map { try Person("peer \($0)") }
    for person in people { _ = try vault.trust.addPeer(person.card, name: nil) }
    vault.close()
    database = try VaultDatabase(folders, keys: try VaultKeys.unlock(folders, passphrase: nil))
  }

  func remove() { try? FileManager.default.removeItem(atPath: path) }

  private static var environment: VaultEnvironment {
    VaultEnvironment(
      now: { Int64(Date().timeIntervalSince1970 * 1000) }, monotonic: { ProcessInfo.processInfo.systemUptime * 1000 },
      sleep: { try await Task.sleep(for: $0) }, log: Logger(label: "load") { _ in SwiftLogNoOpLogHandler() },
      connect: { (_) async throws(TransportError) in throw .closed })
  }

  /// A dealt secret: the vault holds share 1, the requester share 2.
  struct Dealt: ~Copyable {
    let header: SecretHeader
    let held: SecretBytes
    let fragment: [UInt8]
    let claim: Claim
  }

  /// Deals a secret of `dealer`'s; the holder of share 2 is `requester`.
  func deal(_ number: Int, dealer: Person, requester: Person) throws -> Dealt {
    let scheme = try ThresholdScheme(threshold: Self.threshold, shareCount: Self.shareCount)
    let dealing = try Dealing.fresh(scheme)
    let nonce = try Randomness.bytes(SecretHeader.nonceByteCount)
    let id = try SecretHeader.id(dealerKey: dealer.identity.keys.signing, nonce: nonce)
    let plan = try DispersalPlan(
      dataCount: Self.threshold, fragmentCount: Self.shareCount, byteCount: Self.ciphertextByteCount)
    let fragment = try Randomness.bytes(Int(plan.fragmentByteCount))
    let root = try MerkleLeaf.digest(secret: id, fragment: 1, piece: 0, bytes: fragment.span.bytes)
    let salt = try SecretBytes(random: HolderRow.saltByteCount)
    let otherSalt = try Randomness.bytes(HolderRow.saltByteCount)
    var rows = [
      try HolderRow.digest(secret: id, index: 1, card: keys.digest, salt: salt.bytes),
      try HolderRow.digest(
        secret: id, index: 2, card: requester.identity.keys.digest, salt: otherSalt.span.bytes),
    ]
    while rows.count < Self.shareCount { rows.append(try Digest(try Randomness.bytes(Digest.byteCount))) }
    let header = try SecretHeader.sign(
      SecretHeader.Content(
        nonce: nonce, kind: 1, scheme: scheme, createdAt: 1_700_000_000_000 + Int64(number) * 1000,
        ciphertextByteCount: Self.ciphertextByteCount, description: "secret number \(number)",
        labels: (1...Self.shareCount).map { "holder \($0)" }, commitments: dealing.commitments,
        roots: [root] + (1..<Self.shareCount).map { _ in root }, rows: rows),
      by: dealer.identity)
    let share = try dealing.share(1)
    var held = try SecretBytes(zeros: KeyShare.byteCount + HolderRow.saltByteCount)
    held.withUnsafeMutableBytes { target in
      share.bytes.withUnsafeBytes { target.copyMemory(from: $0) }
      salt.withUnsafeBytes {
        UnsafeMutableRawBufferPointer(rebasing: target[KeyShare.byteCount...]).copyMemory(from: $0)
      }
    }
    let claim = try Claim(
      header: header, requester: requester, share: try dealing.share(2),
      salt: try SecretBytes(copying: otherSalt.span.bytes))
    return Dealt(header: header, held: held, fragment: fragment + root.bytes, claim: claim)
  }

  /// Stores a share with its fragment, as an accepted deposit is stored.
  func store(_ dealt: borrowing Dealt, from dealer: Person, at time: Int64) throws {
    let header = dealt.header
    let staging = try database.fragments.stage(count: 1)
    try staging.write(dealt.fragment.span.bytes, index: 1, at: 0)
    try staging.publish(as: header.id)
    let fragment = FragmentRecord(
      completeOf: header.id, index: 1, byteCount: Int64(header.dispersal.fragmentByteCount),
      trailerByteCount: Int64(Digest.byteCount), pieces: 1, headerDigest: header.digest,
      source: dealer.identity.keys.digest)
    let record = SecretRecord(
      id: header.id, askTag: try AskTag.of(header.id), headerDigest: header.digest, header: header.bytes,
      origin: .held, dealer: dealer.identity.keys.digest, description: header.description,
      kind: header.kind, threshold: header.scheme.threshold, shareCount: header.scheme.shareCount, ownIndex: 1,
      createdAt: header.createdAt, receivedAt: time)
    _ = try database.deposit(record, share: dealt.held, index: 1, fragment: fragment)
    staging.close()
  }
}
