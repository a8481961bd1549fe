import ShamirKit
import Sodium
import Testing
import WireCodec

@testable import PeerAuth
@testable import VaultProtocol

@Suite("An introduction")
struct IntroductionTests {
  private let example: WalkedExample
  private let stranger: Identity

  init() throws {
    example = try WalkedExample()
    stranger = try Identity.generate()
  }

  private func sealed(
    _ cards: [HolderCard], index: UInt8 = 2, dealer: Identity? = nil, recipient: Identity? = nil,
    header: SecretHeader? = nil
  ) throws -> [UInt8] {
    try IntroductionBundle.seal(
      cards, header: header ?? example.header, index: index, dealer: (dealer ?? example.people[0]).keys.digest,
      recipient: (recipient ?? example.people[1]).keys)
  }

  private func open(_ sealed: [UInt8]) throws(ProtocolError) -> [(index: UInt8, card: PeerCard)] {
    try IntroductionBundle.open(
      sealed.span.bytes, with: example.people[1], header: example.header, index: 2, dealer: example.people[0].keys)
  }

  private func card(of owner: Identity, index: UInt8 = 3, label: String = "x") throws -> HolderCard {
    HolderCard(index: index, bytes: try owner.card(label: label, addresses: [], serial: 1).encoded())
  }

  private func expectRefused(_ cards: [HolderCard], _ error: ProtocolError) throws {
    let sealed = try sealed(cards)
    #expect(throws: error) { _ = try open(sealed) }
  }

  @Test("opens to the holders' cards, with the numbers of their shares")
  func opens() throws {
    let opened = try open(sealed(example.otherCards()))
    #expect(opened.map(\.index) == [1, 3])
    #expect(opened.map(\.card.keys) == [example.people[0].keys, example.people[2].keys])
    #expect(opened.map(\.card.label) == ["Ann", "Cay"])
  }

  @Test("is for one recipient, one share and one header, and of one dealer")
  func bound() throws {
    let cards = try example.otherCards()
    let others = try sealed(cards, recipient: stranger)
    #expect(throws: ProtocolError.foreignCard("box")) { _ = try open(others) }
    for wrong in [try sealed(cards, index: 1), try sealed(cards, dealer: stranger)] {
      #expect(throws: ProtocolError.malformed(.invalidValue(field: "introduction"))) { _ = try open(wrong) }
    }
    let right = try sealed(cards)
    #expect(throws: ProtocolError.foreignCard("dealer")) {
      _ = try IntroductionBundle.open(
        right.span.bytes, with: example.people[1], header: example.header, index: 2, dealer: stranger.keys)
    }
    for place in [0, right.count / 2, right.count - 1] {
      var damaged = right
      damaged[place] ^= 1
      #expect(throws: (any Error).self) { _ = try open(damaged) }
    }
  }

  @Test("names others than its recipient, of this secret, at least one")
  func numbers() throws {
    try expectRefused([card(of: stranger, index: 2)], .foreignCard("index"))
    try expectRefused([card(of: stranger, index: 4)], .foreignCard("index"))
    try expectRefused([], .foreignCard("none"))
  }

  @Test("has cards as their owners have signed them, without a beacon key")
  func signedCards() throws {
    let own = try stranger.card(label: "x", addresses: [], serial: 1, beaconKey: [UInt8](repeating: 1, count: 16))
    try expectRefused([HolderCard(index: 3, bytes: own.encoded())], .foreignCard("beacon key"))
    let unsigned = try PeerCard(keys: stranger.keys, label: "x", serial: 1)
    try expectRefused([HolderCard(index: 3, bytes: unsigned.encoded())], .foreignCard("signature"))
    let forged = try PeerCard(
      keys: stranger.keys, label: "y", serial: 1, signature: stranger.card(label: "x", serial: 1).signature)
    try expectRefused([HolderCard(index: 3, bytes: forged.encoded())], .foreignCard("signature"))
    for garbage in [[], [1, 2, 3], [UInt8](repeating: 0, count: 300)] as [[UInt8]] {
      let sealed = try sealed([HolderCard(index: 3, bytes: garbage)])
      #expect(throws: ProtocolError.self) { _ = try open(sealed) }
    }
  }

  @Test("has each key once, and none of its recipient's or, but for its own card, its dealer's")
  func keys() throws {
    try expectRefused([card(of: example.people[1])], .foreignCard("key"))
    try expectRefused([card(of: stranger, index: 1), card(of: stranger, index: 3)], .foreignCard("key"))
    for keys in [
      try CardKeys(signing: stranger.keys.signing, noise: example.people[0].keys.noise, box: stranger.keys.box),
      try CardKeys(signing: stranger.keys.signing, noise: stranger.keys.noise, box: example.people[1].keys.box),
    ] {
      let card = try borrowed(keys)
      try expectRefused([card], .foreignCard("key"))
    }
    #expect(try open(sealed([card(of: example.people[0], index: 1)])).count == 1)
  }

  /// A card with other people's keys in it, which anybody can sign.
  private func borrowed(_ keys: CardKeys) throws -> HolderCard {
    let bare = try PeerCard(keys: keys, label: "x", serial: 1)
    let signed = try PeerCard(
      keys: keys, label: "x", serial: 1, signature: stranger.sign(bare.signedDigest()))
    return HolderCard(index: 3, bytes: try signed.encoded())
  }

  @Test("of 254 cards of the largest size fits into its limit")
  func largest() {
    let cards = (1...254).map { HolderCard(index: $0, bytes: [UInt8](repeating: 1, count: PeerCard.byteLimit)) }
    let plaintext = 2 + 21 + 3 * 32 + 1 + HolderCard.encodedByteCount(cards)
    #expect(plaintext + X25519.sealOverhead <= IntroductionBundle.sealedByteLimit)
  }
}
