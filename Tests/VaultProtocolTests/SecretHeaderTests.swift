import PeerAuth
import ShamirKit
import Sodium
import Testing
import WireCodec

@testable import VaultProtocol

@Suite("The secret header")
struct SecretHeaderTests {
  @Test("says after reading what its dealer signed", arguments: 0..<10)
  func roundTrip(_ round: Int) throws {
    let shareCount = Int.random(in: 2...12)
    let labels = round.isMultiple(of: 2) ? nil : (0..<shareCount).map { "Name \($0) 🗝" }
    let dealt = try DealtSecret(
      threshold: .random(in: 2...shareCount), shareCount: shareCount, byteCount: .random(in: 1...(1 << 56)),
      description: round.isMultiple(of: 3) ? "" : "Käse für Ána", labels: labels)
    let read = try SecretHeader(bytes: dealt.header.bytes)
    let content = dealt.content
    #expect(read == dealt.header)
    #expect(read.dealerKey == dealt.dealer.keys.signing)
    #expect(read.nonce == content.nonce)
    #expect(read.kind == content.kind)
    #expect(read.scheme == content.scheme)
    #expect(read.createdAt == content.createdAt)
    #expect(read.dispersal.byteCount == content.ciphertextByteCount)
    #expect(read.dispersal.dataCount == content.scheme.threshold)
    #expect(read.dispersal.fragmentCount == shareCount)
    #expect(read.description == content.description)
    #expect(read.labels == labels)
    #expect(read.commitments == content.commitments)
    #expect(read.roots == content.roots)
    #expect(read.rows == content.rows)
    #expect(read.extensions == Extensions())
  }

  @Test("has the one encoding that its fields have, put together by hand")
  func canonicalEncoding() throws {
    for labels in [nil, ["Ann", "", "Cay 🐟"]] {
      let dealt = try DealtSecret(threshold: 2, shareCount: 3, description: "déjà vu", labels: labels)
      #expect(try HeaderParts(dealt.header).signed(by: dealt.dealer) == dealt.header.bytes)
    }
  }

  @Test("is refused with any single bit flipped")
  func everyFlippedBit() throws {
    let dealt = try DealtSecret(threshold: 2, shareCount: 2, description: "x", labels: ["a", "b"])
    for position in dealt.header.bytes.indices {
      for bit in 0..<8 {
        var bytes = dealt.header.bytes
        bytes[position] ^= 1 << bit
        #expect(refusal(ofHeader: bytes) != nil, "byte \(position), bit \(bit)")
      }
    }
  }

  @Test("is refused when cut at any length, or with a byte behind its end")
  func cutOrExtended() throws {
    let dealt = try DealtSecret(threshold: 2, shareCount: 3, description: "x", labels: ["a", "b", "c"])
    let bytes = dealt.header.bytes
    for count in 0..<bytes.count {
      let error = try #require(refusal(ofHeader: Array(bytes[..<count])))
      guard case .malformed(.truncated) = error else {
        Issue.record("\(count) bytes: \(error)")
        continue
      }
    }
    #expect(refusal(ofHeader: bytes + [0]) == .malformed(.trailingBytes(count: 1)))
  }

  @Test("has as id the first 16 bytes of the hash of dealer key and nonce")
  func idDerivation() throws {
    let dealt = try DealtSecret.random()
    var hash = try DomainHash("vault/secret-id/v1")
    hash.append(dealt.dealer.keys.signing)
    hash.append(dealt.content.nonce)
    let digest = hash.digest()
    #expect(dealt.header.id.bytes == Array(digest.bytes.prefix(16)))
  }

  @Test("of another dealer has another id, even with the same nonce and contents")
  func nobodyElseCanMakeThisID() throws {
    let dealt = try DealtSecret.random()
    let stranger = try Identity.generate()
    let stolen = try SecretHeader.sign(dealt.content, by: stranger)
    #expect(stolen.nonce == dealt.header.nonce)
    #expect(stolen.id != dealt.header.id)
    #expect(stolen.digest != dealt.header.digest)
  }

  @Test("with another nonce has another id")
  func nonceMakesTheID() throws {
    let dealt = try DealtSecret.random()
    var content = dealt.content
    content.nonce = try Randomness.bytes(16)
    #expect(try SecretHeader.sign(content, by: dealt.dealer).id != dealt.header.id)
  }

  @Test("in the dealer's name signed by somebody else is forged")
  func forgedDealer() throws {
    let dealt = try DealtSecret.random()
    let parts = try HeaderParts(dealt.header)
    #expect(refusal(ofHeader: try parts.signed(by: Identity.generate())) == .forgedHeader)
  }

  @Test("with the signature of another header of the same dealer is forged")
  func foreignSignature() throws {
    let dealt = try DealtSecret.random()
    let other = try dealt.otherHeader(description: "another")
    #expect(refusal(ofHeader: Array(dealt.header.bytes.dropLast(64)) + other.signature) == .forgedHeader)
  }

  /// Beginnings of the encodings of points of order 1, 4 and 2; zeros follow.
  private static let smallOrder: [[UInt8]] = [[1], [0], [0xec] + [UInt8](repeating: 0xff, count: 30) + [0x7f]]

  @Test("with a dealer key that anybody can sign for is forged", arguments: smallOrder)
  func smallOrderDealerKey(_ prefix: [UInt8]) throws {
    let dealt = try DealtSecret.random()
    var parts = try HeaderParts(dealt.header)
    parts.dealerKey = prefix + [UInt8](repeating: 0, count: 32 - prefix.count)
    // With a key of small order, R = identity and S = 0 satisfy the equation of a verifier that checks too little.
    let signature = [1] + [UInt8](repeating: 0, count: 63)
    #expect(refusal(ofHeader: parts.unsigned + signature) == .forgedHeader)
  }

  @Test("with a dealer key outside the subgroup of prime order is forged, though its signature verifies")
  func mixedOrderDealerKey() throws {
    // a·B plus the point of order 2; a signer who knows a finds a signature for every second message.
    let key = "6555aa1950112769f5ce6e21879ffcb8247532f5c86abed0d8a0fb6479d9fb77"
    let signature = """
      97846650d66c5bd241a59cf8e12001f0329d7ade90ab66646ee566f71d35fda3\
      4c36f619b3831977c1ab13f31a1284a70b398755ef7e49690c1b30549452ea0b
      """
    var parts = try HeaderParts(WalkedExample().header)
    parts.dealerKey = try #require(bytes(hexadecimal: key))
    parts.nonce = [UInt8](repeating: 1, count: 16)
    let signatureBytes = try #require(bytes(hexadecimal: signature))
    var hash = try DomainHash("vault/header/v1")
    hash.append(parts.unsigned)
    let digest = hash.digest()
    #expect(throws: Never.self) { try Ed25519.verify(signatureBytes, of: digest, by: parts.dealerKey) }
    #expect(refusal(ofHeader: parts.unsigned + signatureBytes) == .forgedHeader)
  }

  @Test("differs in digest, not in id, from a second one for the same nonce")
  func secondHeader() throws {
    let dealt = try DealtSecret.random()
    let other = try dealt.otherHeader(description: "another")
    #expect(other.id == dealt.header.id)
    #expect(other.digest != dealt.header.digest)
  }

  @Test("keeps any kind as it is: its meaning belongs to whoever opens the payload")
  func everyKind() throws {
    let dealt = try DealtSecret.random()
    for kind in [UInt8(0), 5, 6, 255] {
      var parts = try HeaderParts(dealt.header)
      parts.kind = kind
      #expect(try SecretHeader(bytes: parts.signed(by: dealt.dealer)).kind == kind)
    }
  }

  @Test("signed with a number of roots, rows, labels or commitments that isn't its scheme's is never made")
  func inconsistentContents() throws {
    let dealt = try DealtSecret(threshold: 2, shareCount: 3)
    func refusal(_ change: (inout SecretHeader.Content) throws -> Void) rethrows -> ProtocolError? {
      var content = dealt.content
      try change(&content)
      return protocolError { () throws(ProtocolError) in _ = try SecretHeader.sign(content, by: dealt.dealer) }
    }
    // As many digests in all, but a root among the rows.
    #expect(refusal { $0.roots.append($0.rows.removeFirst()) } == .inconsistentHeader("roots"))
    #expect(refusal { $0.rows.removeLast() } == .inconsistentHeader("rows"))
    #expect(refusal { $0.labels = ["a", "b"] } == .inconsistentHeader("labels"))
    #expect(refusal { $0.labels = [] } == .inconsistentHeader("labels"))
    let three = try Dealing.fresh(ThresholdScheme(threshold: 3, shareCount: 3)).commitments
    #expect(refusal { $0.commitments = three } == .inconsistentHeader("commitments"))
    #expect(refusal { $0.nonce.append(0) } == .malformed(.invalidValue(field: "nonce")))
    #expect(refusal { $0.createdAt = -1 } == .malformed(.invalidValue(field: "created")))
  }
}
