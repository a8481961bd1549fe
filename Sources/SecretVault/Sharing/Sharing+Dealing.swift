import PeerAuth
import SealedPayload
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// Dealing: from a plaintext source to fragments, a signed header and sealed shares.
extension Sharing {
  /// What is kept of a dealing. Only the own share can be opened with it.
  struct DealtRecords: ~Copyable {
    let header: SecretHeader
    let secret: SecretRecord
    let ownShare: SecretBytes?
    let fragments: [FragmentRecord]
    let outbox: [NewOutboxRecord]
    let staging: FragmentStaging
    let policy: String?
  }

  /// Deals shares, encrypts and disperses the file, and seals each share to its holder. Key, polynomials and salts are wiped when this
  /// returns; only then is anything committed, and can a daemon send it.
  func makeRecords(
    _ request: ShareRequest, _ recipients: [PeerRecord], _ source: SharedPlaintext,
    _ events: @escaping @Sendable (ShareEvent) -> Void
  ) throws -> DealtRecords {
    let count = recipients.count + (request.keepsOwnShare ? 1 : 0)
    let scheme = try ThresholdScheme(threshold: request.threshold, shareCount: count)
    let nonce = try random(SecretHeader.nonceByteCount)
    let id: SecretID
    do { id = try SecretHeader.id(dealerKey: identity.keys.signing, nonce: nonce) } catch {
      throw VaultError(.other, "no id could be made")
    }
    let dealing = try Dealing.fresh(scheme)
    let extensions = try source.extensions(id)
    var sealer = try makeSealer(dealing, id, source)
    let plan = try DispersalPlan(
      dataCount: scheme.threshold, fragmentCount: count, byteCount: sealer.ciphertextByteCount)
    let staging = try database.fragments.stage(count: count)
    let total = sealer.ciphertextByteCount
    let roots = try FragmentDispersal(plan: plan, secret: id, staging: staging) { done in
      events(.sealing(done: done, total: total))
    }.run(source.body, through: &sealer)

    var holders: [(name: String, keys: CardKeys)] = []
    if request.keepsOwnShare { holders.append((try core.ownCard().label, identity.keys)) }
    for peer in recipients { holders.append((peer.name, try directory.storedCard(peer).keys)) }
    let salts = try freshSecret(count * HolderRow.saltByteCount)
    let rows = try holders.enumerated().map { (position, holder) throws in
      try Self.row(id, position, holder.keys.digest, salts)
    }
    let labels = request.includesLabels ? holders.map { Self.label($0.name) } : nil
    let header: SecretHeader
    do {
      header = try SecretHeader.sign(
        SecretHeader.Content(
          nonce: nonce, kind: source.kind.rawValue, scheme: scheme, createdAt: environment.now(),
          ciphertextByteCount: total, description: request.description ?? "", labels: labels,
          commitments: dealing.commitments, roots: roots, rows: rows, extensions: extensions),
        by: identity)
    } catch {
      throw VaultError(.other, "the secret's header could not be signed: \(error)")
    }
    return try records(header, dealing, salts, recipients, holders.map(\.keys), request, staging, plan)
  }

  /// First the fragments, then all else in one transaction.
  func commit(
    _ records: borrowing DealtRecords, _ recipients: [PeerRecord], _ events: @Sendable (ShareEvent) -> Void
  ) throws {
    do {
      try records.staging.publish(as: records.header.id)
      events(.committing)
      try database.deal(
        records.secret, ownShare: records.ownShare, fragments: records.fragments, outbox: records.outbox,
        policy: records.policy)
    } catch .unknownRecipient(let digest) {
      records.staging.close()
      let name = recipients.first { $0.digest == digest }?.name ?? "a peer"
      throw VaultError(
        .refused, "\(name) was removed meanwhile; nothing was shared",
        hint: "share it again with the peers that are left")
    } catch {
      records.staging.close()
      throw VaultError(error)
    }
    records.staging.close()
  }

  private func makeSealer(
    _ dealing: borrowing Dealing, _ id: SecretID, _ source: SharedPlaintext
  ) throws -> PayloadSealer {
    do { return try source.sealer(under: try dealing.fileKey(for: id)) } catch {
      throw error as? VaultError ?? VaultError(.other, "encrypting can't begin: \(error)")
    }
  }

  private static func salt(_ position: Int, _ salts: borrowing SecretBytes) throws -> SecretBytes {
    let start = position * HolderRow.saltByteCount
    do { return try SecretBytes(copying: salts.bytes.extracting(start..<(start + HolderRow.saltByteCount))) } catch {
      throw VaultError(.other, "no memory is left")
    }
  }

  private static func row(
    _ id: SecretID, _ position: Int, _ card: Digest, _ salts: borrowing SecretBytes
  ) throws -> Digest {
    let salt = try salt(position, salts)
    do { return try HolderRow.digest(secret: id, index: UInt8(position + 1), card: card, salt: salt.bytes) } catch {
      throw VaultError(.other, "hashing failed")
    }
  }

  /// The name, cut between characters to the length of a label.
  private static func label(_ name: String) -> String {
    var label = name
    while label.utf8.count > SecretHeader.labelByteLimit { label.removeLast() }
    return label
  }

  /// Seals every share to its holder.
  private func records(
    _ header: SecretHeader, _ dealing: borrowing Dealing, _ salts: borrowing SecretBytes,
    _ recipients: [PeerRecord], _ holders: [CardKeys], _ request: ShareRequest, _ staging: FragmentStaging,
    _ plan: DispersalPlan
  ) throws -> DealtRecords {
    let now = environment.now()
    let id = header.id
    let first = request.keepsOwnShare ? 2 : 1
    var outbox: [NewOutboxRecord] = []
    for (offset, peer) in recipients.enumerated() {
      let index = first + offset
      let share = try dealing.vaultShare(index)
      let salt = try Self.salt(index - 1, salts)
      let sealed: [UInt8]
      do {
        sealed = try SealedShare.seal(
          share, salt: salt, header: header, dealer: identity.keys.digest, recipient: holders[index - 1])
      } catch {
        throw VaultError(.other, "a share could not be sealed for \(peer.name): \(error)")
      }
      outbox.append(
        NewOutboxRecord(
          recipient: peer.digest, kind: DeliveryKind.deposit, secretID: id, index: index, payload: sealed,
          hasFragment: true, nextAttemptAt: now + OutboxRecord.lease, createdAt: now))
    }
    // After the shares, and durable with them.
    outbox += try introductions.introductions(header, recipients, first: first)
    let trailer = try MerkleLayout(leafCount: plan.stripeCount).totalByteCount
    guard let byteCount = Int64(exactly: plan.fragmentByteCount), let trailerByteCount = Int64(exactly: trailer),
      let pieces = Int(exactly: plan.stripeCount)
    else { throw VaultError(.usage, "the file is too large to share") }
    let fragments = (1...header.scheme.shareCount).map { index in
      FragmentRecord(
        completeOf: id, index: index, byteCount: byteCount, trailerByteCount: trailerByteCount, pieces: pieces,
        headerDigest: header.digest, source: nil)
    }
    let tag: Digest
    do { tag = try AskTag.of(header.id) } catch { throw VaultError(.other, "hashing failed") }
    let secret = SecretRecord(
      id: id, askTag: tag, headerDigest: header.digest, header: header.bytes, origin: .dealt,
      dealer: identity.keys.digest, description: header.description.isEmpty ? nil : header.description,
      kind: header.kind, threshold: header.scheme.threshold, shareCount: header.scheme.shareCount,
      ownIndex: request.keepsOwnShare ? 1 : nil, createdAt: header.createdAt, receivedAt: now)
    let own = try request.keepsOwnShare ? ownShareRecord(dealing, salts) : nil
    return DealtRecords(
      header: header, secret: secret, ownShare: own, fragments: fragments, outbox: outbox, staging: staging,
      policy: request.policy)
  }

  /// As the store keeps it.
  private func ownShareRecord(_ dealing: borrowing Dealing, _ salts: borrowing SecretBytes) throws -> SecretBytes {
    let share = try dealing.vaultShare(1)
    let salt = try Self.salt(0, salts)
    return try HeldShare.record(share: share, salt: salt)
  }

  private func random(_ count: Int) throws -> [UInt8] {
    do { return try Randomness.bytes(count) } catch { throw VaultError(.other, "no randomness can be had") }
  }
}

extension Dealing {
  borrowing func vaultShare(_ index: Int) throws -> KeyShare {
    guard let number = UInt8(exactly: index) else { throw VaultError(.other, "there is no share \(index)") }
    return try share(number)
  }
}

extension HeldShare {
  /// Share (64 bytes) and salt (32 bytes).
  static func record(share: borrowing KeyShare, salt: borrowing SecretBytes) throws -> SecretBytes {
    do {
      var record = try SecretBytes(zeros: KeyShare.byteCount + HolderRow.saltByteCount)
      record.withUnsafeMutableBytes { target in
        share.bytes.withUnsafeBytes { target.copyMemory(from: $0) }
        salt.withUnsafeBytes {
          UnsafeMutableRawBufferPointer(rebasing: target[KeyShare.byteCount...]).copyMemory(from: $0)
        }
      }
      return record
    } catch {
      throw VaultError(.other, "no memory is left")
    }
  }

  /// Opens what ``record(share:salt:)`` made.
  convenience init(index: Int, record: borrowing SecretBytes, of secret: String) throws {
    guard record.count == KeyShare.byteCount + HolderRow.saltByteCount, let number = UInt8(exactly: index) else {
      throw VaultError(.damaged, "this device's share of \(secret) is damaged")
    }
    do {
      let share = try KeyShare(
        index: number, bytes: try SecretBytes(copying: record.bytes.extracting(0..<KeyShare.byteCount)))
      let salt = try SecretBytes(copying: record.bytes.extracting(KeyShare.byteCount..<record.count))
      self.init(share: share, salt: salt)
    } catch {
      throw VaultError(.damaged, "this device's share of \(secret) is damaged")
    }
  }
}
