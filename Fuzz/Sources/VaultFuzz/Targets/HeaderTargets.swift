import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import WireCodec

/// The header of a secret, and the rows in it.
enum HeaderTargets {
  static let example = prepared { try WalkedExample() }

  static let all = [
    FuzzTarget("header", upTo: SecretHeader.byteLimit + 100) { bytes in
      check(try SecretHeader(bytes: bytes), bytes)
      return true
    },
    // The unsigned bytes are the input: behind the signature lies everything that a hostile dealer may write.
    FuzzTarget("header-signed", upTo: SecretHeader.byteLimit + 100) { input in
      let dealer = example.people[0]
      var unsigned = input
      if unsigned.count >= 34 { unsigned.replaceSubrange(2..<34, with: dealer.keys.signing) }
      var hash = try DomainHash("vault/header/v1")
      hash.append(unsigned)
      let digest = hash.digest()
      let bytes = unsigned + (try dealer.sign(digest))
      let header = try SecretHeader(bytes: bytes)
      check(header, bytes)
      guard header.extensions.entries.isEmpty else { return true }
      let content = SecretHeader.Content(
        nonce: header.nonce, kind: header.kind, scheme: header.scheme, createdAt: header.createdAt,
        ciphertextByteCount: header.dispersal.byteCount, description: header.description, labels: header.labels,
        commitments: header.commitments, roots: header.roots, rows: header.rows)
      let again = prepared { try SecretHeader.sign(content, by: dealer) }
      require(again.bytes == bytes, "a header has one encoding")
      return true
    },
    FuzzTarget("holder-row", upTo: 200) { bytes in
      var tape = Tape(bytes)
      let index = tape.byte()
      let card = try Digest(tape.bytes(exactly: 32))
      let salt = tape.remainder()
      try example.header.verifyHolder(index: index, card: card, salt: salt.span.bytes)
      let place = Int(index) - 1
      require(
        card == example.people[place].keys.digest && salt == example.salts[place],
        "a row opens for its own holder alone")
      return true
    },
  ]

  private static func check(_ header: SecretHeader, _ bytes: [UInt8]) {
    require(header.bytes == bytes, "a header keeps its bytes")
    let count = header.scheme.shareCount
    require(
      header.roots.count == count && header.rows.count == count && header.labels?.count ?? count == count
        && header.commitments.points.count == header.scheme.threshold, "a header's lists fit its numbers")
    require(header.dispersal.dataCount == header.scheme.threshold, "as many fragments rebuild as shares do")
    require((try? header.root(of: 0)) == nil, "there is no fragment 0")
    require((try? header.root(of: UInt8(count))) == header.roots[count - 1], "the last fragment has the last root")
  }
}
