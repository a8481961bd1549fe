public import Sodium
public import WireCodec

/// Why a card, one of its parts, or its text was refused.
public enum CardError: Error, Hashable, Sendable {
  /// Longer than this many characters or bytes; nothing else was looked at.
  case tooLong(limit: Int)
  /// The text doesn't begin with `vaultpeer1`, or is too short to be a card.
  case notACard
  /// The text mixes upper and lower case: it was typed or damaged.
  case mixedCase
  /// The text holds a character that the encoding doesn't use.
  case invalidCharacter
  /// The checksum is wrong: a character was changed, lost or swapped.
  case wrongChecksum
  /// The bytes are not a card of a known version in its one canonical form.
  case malformed(WireError)
  /// A key is not canonical, of small order, or of the wrong length.
  case invalidKey(CardKeys.Purpose)
  /// Two of the three keys are the same.
  case keysNotDistinct
  /// The label is over 64 bytes or holds a control or bidirectional-override character.
  case invalidLabel
  /// An address is not `host:port`, `[v6]:port` or `host`, or names no usable host or port.
  case invalidAddress
  /// More addresses than a card may have.
  case tooManyAddresses(limit: Int)
  /// The beacon key is not 16 bytes.
  case invalidBeaconKey
  /// A signature is needed and the card has none.
  case missingSignature
  /// The signature is not the card's own over its contents.
  case wrongSignature
  /// The card has other keys than the one it is compared with: another peer, never an update.
  case otherKeys
  /// The machine has no memory or randomness left.
  case sodium(SodiumError)
}
