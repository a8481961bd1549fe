import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import WireCodec

/// Shares, commitments and proofs.
enum ShareTargets {
  /// The walked example's proof.
  static let proof = prepared { () throws -> PossessionProof in
    let body = try HeaderTargets.example.messages().first { $0.0 == "possession" }?.1 ?? []
    return try Possession.decode(body, limit: 512).proof
  }

  static let all = [
    FuzzTarget("commitments", upTo: 9000) { bytes in
      let commitments = try canonical(Commitments.self, bytes, limit: 9000)
      if commitments.points.count < 4 {
        for index: UInt8 in [1, 2, 255] {
          require((try? commitments.evaluation(at: index)) != nil, "commitments can be evaluated everywhere")
        }
      }
      return true
    },
    FuzzTarget("possession-proof", upTo: 300) { bytes in
      let proof = try canonical(PossessionProof.self, bytes, limit: PossessionProof.byteCount)
      let statement = prepared { () throws -> PossessionStatement in try fixedStatement() }
      // A proof for nothing: that it holds would mean that somebody guessed it.
      require((try? proof.verify(statement)) == nil, "a proof from nowhere fails")
      return true
    },
    FuzzTarget("possession", upTo: 400) { bytes in
      var tape = Tape(bytes)
      let ownIndex = tape.byte()
      let possession = try Possession.decode(tape.remainder(), limit: 512)
      let example = HeaderTargets.example
      let exchange = PossessionExchange(
        Epoch(example.header), purpose: .release, prover: example.people[1].keys.digest,
        verifier: example.people[2].keys.digest, binding: example.header.digest,
        nonce: [UInt8](repeating: 0x55, count: 32))
      try exchange.verify(possession, ownIndex: ownIndex) { index throws(ProtocolError) in
        do throws(ShamirError) { return try example.header.commitments.evaluation(at: index) } catch {
          throw .rejected(error)
        }
      }
      return true
    },
    FuzzTarget("sealed-share", upTo: 600) { bytes in try open(bytes, index: 2) },
    // The plaintext is the input: what a hostile dealer may put into the box.
    FuzzTarget("sealed-share-inside", upTo: 600) { bytes in
      let plaintext = try secret(bytes)
      return try open(try X25519.seal(plaintext, to: HeaderTargets.example.people[1].keys.box), index: 2)
    },
    // The plaintext is the input: what a hostile dealer may say about the other holders.
    FuzzTarget("introduction", upTo: 9000) { bytes in
      let example = HeaderTargets.example
      let sealed = try X25519.seal(try secret(bytes), to: example.people[1].keys.box)
      let opened = try IntroductionBundle.open(
        sealed.span.bytes, with: example.people[1], header: example.header, index: 2, dealer: example.people[0].keys)
      require(!opened.isEmpty && opened.allSatisfy { $0.index != 2 }, "an introduction names others")
      require(Set(opened.map(\.card.keys)).count == opened.count, "an introduction names each once")
      return true
    },
    FuzzTarget("key-share", upTo: 100) { bytes in
      var tape = Tape(bytes)
      let index = tape.byte()
      let share = try KeyShare(index: index, bytes: try secret(tape.remainder()))
      try share.verify(against: HeaderTargets.example.header.commitments)
      return true
    },
    FuzzTarget("shares-combined", upTo: 1200) { bytes in try combine(bytes) },
  ]

  private static func fixedStatement() throws -> PossessionStatement {
    let header = HeaderTargets.example.header
    let context = try ProofContext(
      kind: .session, binding: header.digest.bytes, proverCard: header.digest, verifierCard: header.digest,
      role: .requester, verifierNonce: header.digest.bytes)
    return PossessionStatement(
      purpose: .release, headerDigest: header.digest, secretID: header.id, epoch: 0, index: 1,
      evaluation: try header.commitments.evaluation(at: 1), context: context)
  }

  private static func open(_ sealed: [UInt8], index: UInt8) throws -> Bool {
    let example = HeaderTargets.example
    let opened = try SealedShare.open(
      sealed.span.bytes, with: example.people[1], header: example.header, index: index, dealer: example.people[0].keys)
    let share = exposed(opened.share.bytes)
    require(share == (try? example.shareBytes(2)), "a share that opens is the dealt one")
    return true
  }

  /// Shares from anywhere, some of them the dealt ones, against the example's commitments: no bad one may count.
  private static func combine(_ bytes: [UInt8]) throws -> Bool {
    var tape = Tape(bytes)
    let example = HeaderTargets.example
    let dealt = prepared { try (1...3).map { try example.shareBytes($0) } }
    var collector = try ShareCollector(scheme: example.header.scheme, commitments: example.header.commitments)
    var good: Set<UInt8> = []
    var seen: Set<UInt8> = []
    while tape.hasMore {
      let index = tape.byte() & 3
      let isDealt = tape.flag() && index > 0
      let bytes = isDealt ? dealt[Int(index) - 1] : tape.bytes(exactly: 64)
      let isNew = seen.insert(index).inserted
      if isNew, isDealt { good.insert(index) }
      let failure = add(index, bytes, to: &collector)
      guard failure == nil || failure == .duplicateShare(index: index) && !isNew else { return false }
    }
    if case .invalidShares(let indices) = failure({ () throws(ShamirError) in try collector.verify() }) {
      require(good.isDisjoint(with: indices), "a dealt share is never called bad")
    }
    require(Set(collector.verifiedIndices) == good, "what verifies is what was dealt")
    let key = try collector.fileKey(for: example.header.id)
    require(good.count >= example.header.scheme.threshold, "fewer shares than the threshold give no key")
    require(key.count == 32, "a key has 32 bytes")
    return true
  }

  private static func add(_ index: UInt8, _ bytes: [UInt8], to collector: inout ShareCollector) -> ShamirError? {
    failure { () throws(ShamirError) in
      let memory = prepared { try secret(bytes) }
      let share = try KeyShare(index: index, bytes: memory)
      try collector.add(share)
    }
  }

  private static func failure(_ body: () throws(ShamirError) -> Void) -> ShamirError? {
    do throws(ShamirError) {
      try body()
      return nil
    } catch { return error }
  }
}
