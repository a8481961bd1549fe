import PeerAuth
import ShamirKit
import Sodium
import Testing

@testable import VaultProtocol

/// The contents of a sealed share, written by hand, with whatever part a test wants to be another's.
private struct Contents {
  var label = Array("vault/sealed-share/v1".utf8)
  var headerDigest: [UInt8]
  var index: UInt8
  var dealer: [UInt8]
  var recipient: [UInt8]
  var share: [UInt8]
  var salt: [UInt8]

  init(_ dealt: DealtSecret, _ index: UInt8) throws {
    headerDigest = dealt.header.digest.bytes
    self.index = index
    dealer = dealt.dealer.keys.digest.bytes
    recipient = dealt.holder(index).keys.digest.bytes
    share = try dealt.shareBytes(index)
    salt = dealt.salt(index)
  }

  var bytes: [UInt8] {
    bigEndian(UInt16(label.count)) + label + headerDigest + [index] + dealer + recipient + share + salt
  }

  func sealed(to recipient: Identity) throws -> [UInt8] {
    try X25519.seal(try secret(bytes), to: recipient.keys.box)
  }
}

@Suite("A sealed share")
struct SealedShareTests {
  /// What holder 2, or `recipient`, says to a sealed share that came with `header` from `dealer`.
  private func refusal(
    _ sealed: [UInt8], _ dealt: DealtSecret, recipient: Identity? = nil, header: SecretHeader? = nil,
    index: UInt8 = 2, dealer: CardKeys? = nil
  ) -> ProtocolError? {
    protocolError { () throws(ProtocolError) in
      _ = try SealedShare.open(
        sealed.span.bytes, with: recipient ?? dealt.holder(2), header: header ?? dealt.header, index: index,
        dealer: dealer ?? dealt.dealer.keys)
    }
  }

  /// What holder 2 says when one part of the contents was changed before sealing.
  private func refusal(_ dealt: DealtSecret, _ change: (inout Contents) throws -> Void) throws -> ProtocolError? {
    var contents = try Contents(dealt, 2)
    try change(&contents)
    return refusal(try contents.sealed(to: dealt.holder(2)), dealt)
  }

  @Test("gives its recipient share and salt", arguments: 0..<5)
  func opens(_: Int) throws {
    let dealt = try DealtSecret.random()
    for index in 1...UInt8(dealt.holders.count) {
      let sealed = try dealt.sealed(index)
      let opened = try SealedShare.open(
        sealed.span.bytes, with: dealt.holder(index), header: dealt.header, index: index, dealer: dealt.dealer.keys)
      let bytes = exposed(opened.share.bytes)
      let salt = exposed(opened.salt)
      #expect(opened.share.index == index)
      #expect(try bytes == dealt.shareBytes(index))
      #expect(salt == dealt.salt(index))
    }
  }

  @Test("has the contents of the format, put together by hand, and always the same length")
  func contents() throws {
    let dealt = try DealtSecret.random()
    let share = try dealt.dealing.share(2)
    let plaintext = try SealedShare.plaintext(
      share, salt: try secret(dealt.salt(2)), header: dealt.header, dealer: dealt.dealer.keys.digest,
      recipient: dealt.holder(2).keys.digest)
    let bytes = exposed(plaintext)
    #expect(try bytes == Contents(dealt, 2).bytes)
    #expect(try dealt.sealed(2).count == SealedShare.byteCount)
    #expect(refusal(try Contents(dealt, 2).sealed(to: dealt.holder(2)), dealt) == nil)
  }

  @Test("is another text each time")
  func freshEachTime() throws {
    let dealt = try DealtSecret.random()
    #expect(try dealt.sealed(2) != dealt.sealed(2))
  }

  @Test("opens for nobody but its recipient")
  func otherRecipient() throws {
    let dealt = try DealtSecret.random()
    #expect(refusal(try dealt.sealed(2), dealt, recipient: dealt.holder(1)) == .foreignShare("box"))
    #expect(refusal(try dealt.sealed(2), dealt, recipient: try Identity.generate()) == .foreignShare("box"))
  }

  @Test("can't be opened again by its dealer, with any of its three secrets")
  func dealerCannotOpen() throws {
    let dealt = try DealtSecret.random()
    let sealed = try dealt.sealed(2)
    let stored = try dealt.dealer.stored()
    let secrets = exposed(stored)
    for start in [1, 33, 65] {
      let key = try secret(Array(secrets[start..<(start + 32)]))
      for publicKey in [try X25519.publicKey(of: key), dealt.holder(2).keys.box] {
        #expect(throws: SodiumError.verificationFailed) {
          _ = try X25519.open(sealed.span.bytes, publicKey: publicKey, secret: key)
        }
      }
    }
  }

  @Test("is refused with any byte changed")
  func changedBytes() throws {
    let dealt = try DealtSecret.random()
    let sealed = try dealt.sealed(2)
    for position in sealed.indices {
      var changed = sealed
      changed[position] ^= .random(in: 1...255)
      #expect(refusal(changed, dealt) == .foreignShare("box"), "byte \(position)")
    }
  }

  @Test("of another length is refused before it is opened", arguments: [0, 1, 47, 48, 263, 265, 512])
  func length(_ count: Int) throws {
    let dealt = try DealtSecret.random()
    let sealed = try dealt.sealed(2)
    #expect(sealed.count == 264)
    let other = Array((sealed + [UInt8](repeating: 0, count: 512)).prefix(count))
    #expect(refusal(other, dealt) == .foreignShare("length"))
  }

  @Test("says a label, header digest, index, dealer or recipient that isn't the expected: refused by name")
  func swappedNames() throws {
    let dealt = try DealtSecret.random()
    let other = try DealtSecret.random()
    let label = try refusal(dealt) { $0.label = Array("vault/sealed-share/v2".utf8) }
    #expect(label == .foreignShare("label"))
    let digest = try refusal(dealt) { $0.headerDigest = other.header.digest.bytes }
    #expect(digest == .foreignShare("header digest"))
    #expect(try refusal(dealt) { $0.index = 1 } == .foreignShare("index"))
    #expect(try refusal(dealt) { $0.index = 0 } == .foreignShare("index"))
    #expect(try refusal(dealt) { $0.dealer = other.dealer.keys.digest.bytes } == .foreignShare("dealer"))
    let recipient = try refusal(dealt) { $0.recipient = dealt.holder(1).keys.digest.bytes }
    #expect(recipient == .foreignShare("recipient"))
  }

  @Test("with a label of another length, the whole as long as ever, is refused")
  func shiftedLabel() throws {
    let dealt = try DealtSecret.random()
    for count in [0, 20, 22, 64] {
      let error = try refusal(dealt) {
        $0.label = [UInt8](repeating: 0x76, count: count)
        $0.salt = [UInt8](repeating: 0, count: max(0, 32 + 21 - count))
        if count > 53 { $0.share.removeLast(count - 53) }
      }
      #expect(error == .foreignShare("label"), "\(count)")
    }
    let endless = try refusal(dealt) { $0.label[0...1] = [0xff, 0xff] }
    #expect(endless == .malformed(.invalidValue(field: "label")))
  }

  @Test("with another holder's share, or one that lies on no polynomial, is refused")
  func swappedShare() throws {
    let dealt = try DealtSecret.random()
    let others = try dealt.shareBytes(1)
    #expect(try refusal(dealt) { $0.share = others } == .rejected(.invalidShares(indices: [2])))
    #expect(try refusal(dealt) { $0.share[0] ^= 1 } == .rejected(.invalidShares(indices: [2])))
    #expect(try refusal(dealt) { $0.share[32] ^= 1 } == .rejected(.invalidShares(indices: [2])))
  }

  @Test("with scalars that are not below the group order is refused")
  func malformedShare() throws {
    let dealt = try DealtSecret.random()
    for position in [31, 63] {
      let error = try refusal(dealt) { $0.share[position] = 0xff }
      #expect(error == .rejected(.malformedShare(index: 2)))
    }
  }

  @Test("whose salt doesn't open the recipient's row is refused")
  func swappedSalt() throws {
    let dealt = try DealtSecret.random()
    #expect(try refusal(dealt) { $0.salt = dealt.salt(1) } == .foreignShare("holder row"))
    #expect(try refusal(dealt) { $0.salt[31] ^= 0x80 } == .foreignShare("holder row"))
  }

  @Test("holds only with the header it was sealed for")
  func otherHeader() throws {
    let dealt = try DealtSecret.random()
    let second = try dealt.otherHeader(description: "another")
    #expect(refusal(try dealt.sealed(2), dealt, header: second) == .foreignShare("header digest"))
    let foreign = try DealtSecret(threshold: 2, shareCount: 2, dealer: dealt.dealer)
    #expect(refusal(try dealt.sealed(2), dealt, header: foreign.header) == .foreignShare("header digest"))
  }

  @Test("holds only for the index it was offered as")
  func otherIndex() throws {
    let dealt = try DealtSecret.random()
    for index in [0, 1, UInt8(dealt.holders.count) + 1] {
      #expect(refusal(try dealt.sealed(2), dealt, index: index) == .foreignShare("index"))
    }
  }

  @Test("holds only from the header's dealer")
  func otherDealer() throws {
    let dealt = try DealtSecret.random()
    let stranger = try Identity.generate().keys
    #expect(refusal(try dealt.sealed(2), dealt, dealer: stranger) == .foreignShare("dealer"))
    // Nor from somebody who knows share and salt, and seals them in his own name.
    var contents = try Contents(dealt, 2)
    contents.dealer = stranger.digest.bytes
    let resealed = try contents.sealed(to: dealt.holder(2))
    #expect(refusal(resealed, dealt, dealer: stranger) == .foreignShare("dealer"))
    // The right signing key with another key beside it is another card.
    let mixed = try CardKeys(signing: dealt.dealer.keys.signing, noise: stranger.noise, box: dealt.dealer.keys.box)
    #expect(refusal(try dealt.sealed(2), dealt, dealer: mixed) == .foreignShare("dealer"))
  }

  @Test("is not made for anybody but the holder in the header, nor with a salt of another length")
  func sealingChecks() throws {
    let dealt = try DealtSecret.random()
    func refusal(_ salt: [UInt8], _ recipient: CardKeys) throws -> ProtocolError? {
      let share = try dealt.dealing.share(2)
      let salt = try secret(salt)
      do throws(ProtocolError) {
        _ = try SealedShare.seal(
          share, salt: salt, header: dealt.header, dealer: dealt.dealer.keys.digest, recipient: recipient)
        return nil
      } catch {
        return error
      }
    }
    #expect(try refusal(dealt.salt(2), dealt.holder(2).keys) == nil)
    #expect(try refusal(dealt.salt(2), dealt.holder(1).keys) == .foreignShare("holder row"))
    #expect(try refusal(dealt.salt(1), dealt.holder(2).keys) == .foreignShare("holder row"))
    #expect(try refusal(dealt.salt(2).dropLast(), dealt.holder(2).keys) == .foreignShare("salt"))
    #expect(try refusal(dealt.salt(2) + [0], dealt.holder(2).keys) == .foreignShare("salt"))
  }
}
