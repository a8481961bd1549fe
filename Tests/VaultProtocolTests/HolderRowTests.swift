import PeerAuth
import ShamirKit
import Sodium
import Testing

@testable import VaultProtocol

@Suite("Holder rows and ask tags")
struct HolderRowTests {
  private func refusal(
    _ header: SecretHeader, _ index: UInt8, _ card: Digest, _ salt: [UInt8]
  ) -> ProtocolError? {
    protocolError { () throws(ProtocolError) in
      try header.verifyHolder(index: index, card: card, salt: salt.span.bytes)
    }
  }

  @Test("A row opens for its holder")
  func opens() throws {
    let dealt = try DealtSecret.random()
    for index in 1...UInt8(dealt.holders.count) {
      #expect(refusal(dealt.header, index, dealt.holder(index).keys.digest, dealt.salt(index)) == nil)
    }
  }

  @Test("A row binds card, index and salt")
  func binds() throws {
    let dealt = try DealtSecret.random()
    let card = dealt.holder(1).keys.digest
    let foreign = ProtocolError.foreignShare("holder row")
    #expect(refusal(dealt.header, 1, dealt.holder(2).keys.digest, dealt.salt(1)) == foreign)
    #expect(refusal(dealt.header, 1, try randomDigest(), dealt.salt(1)) == foreign)
    #expect(refusal(dealt.header, 2, card, dealt.salt(1)) == foreign)
    #expect(refusal(dealt.header, 1, card, dealt.salt(2)) == foreign)
    #expect(refusal(dealt.header, 1, card, dealt.salt(1).dropLast()) == foreign)
    #expect(refusal(dealt.header, 1, card, []) == foreign)
  }

  @Test("A row binds the secret: copied into another header, it opens for nobody")
  func bindsTheSecret() throws {
    let dealt = try DealtSecret.random()
    var content = dealt.content
    content.nonce = try Randomness.bytes(16)
    let copy = try SecretHeader.sign(content, by: dealt.dealer)
    #expect(refusal(copy, 1, dealt.holder(1).keys.digest, dealt.salt(1)) == .foreignShare("holder row"))
  }

  @Test("There is no row 0 and none after the last, and no such root")
  func range() throws {
    let dealt = try DealtSecret.random()
    for index in [0, UInt8(dealt.holders.count) + 1, 255] {
      let foreign = ProtocolError.rejected(.foreignShare(index: index))
      #expect(refusal(dealt.header, index, dealt.holder(1).keys.digest, dealt.salt(1)) == foreign)
      #expect(protocolError { () throws(ProtocolError) in _ = try dealt.header.root(of: index) } == foreign)
    }
  }

  @Test("A row is the hash of secret id, index, card and salt under its own label")
  func derivation() throws {
    let dealt = try DealtSecret.random()
    var hash = try DomainHash("vault/holder/v1")
    hash.append(dealt.header.id.bytes)
    hash.append([0, 0, 0, 0, 0, 0, 0, 2])
    hash.append(dealt.holder(2).keys.digest.bytes)
    hash.append(dealt.salt(2))
    let row = hash.digest()
    #expect(row == dealt.header.rows[1])
  }

  @Test("An ask tag tells secrets apart and isn't any other value of the header")
  func askTag() throws {
    let dealt = try DealtSecret.random()
    let other = try DealtSecret.random()
    let tag = try AskTag.of(dealt.header.id)
    #expect(try tag == AskTag.of(dealt.header.id))
    #expect(try tag != AskTag.of(other.header.id))
    #expect(!dealt.header.bytes.indices.dropLast(31).contains { dealt.header.bytes[$0...].starts(with: tag.bytes) })
  }
}
