package import ShamirKit
package import Sodium
package import WireCodec

/// Why something that a peer or a file said was not accepted.
package enum ProtocolError: Error, Hashable, Sendable {
  /// The bytes don't parse.
  case malformed(WireError)
  /// A header whose parts contradict one another; names the part.
  case inconsistentHeader(String)
  /// A header's signature is not its dealer's.
  case forgedHeader
  /// A sealed share that says something else than the header and session it came with; names the part.
  case foreignShare(String)
  /// A holder's card, or a bundle of them, that is not what it should be; names the part.
  case foreignCard(String)
  /// A parcel that isn't for this device, not from who it says, or not what it says; names the part.
  case foreignParcel(String)
  /// A change of a sharing, or a part of one, that contradicts the sharing before or itself; names the part.
  case foreignProposal(String)
  /// A share, proof or path that does not verify.
  case rejected(ShamirError)
  /// A message that has no place at this point of the dialogue.
  case unexpectedMessage(UInt16)
  /// A piece of another number or length than is due.
  case unexpectedPiece(number: UInt64)
  /// A fragment that is not the one its header announces.
  case fragmentMismatch
  /// A piece that does not belong to the fragment.
  case pieceMismatch(number: UInt64)
  /// The cryptographic library refused.
  case sodium(SodiumError)
}
