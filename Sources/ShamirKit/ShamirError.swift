public import Sodium

/// Why a scheme, share, proof, fragment or tree was refused. Names who is to blame where somebody is; never holds
/// bytes.
public enum ShamirError: Error, Sendable, Hashable {
  /// Not 2 ≤ threshold ≤ share count ≤ 255.
  case invalidScheme
  /// Fewer verified shares than the threshold.
  case tooFewShares(have: Int, need: Int)
  /// A share with this index is there already.
  case duplicateShare(index: UInt8)
  /// No share of this scheme has this index; 0 never is one.
  case foreignShare(index: UInt8)
  /// The bytes are not two scalars below the group order.
  case malformedShare(index: UInt8)
  /// These shares are not what the commitments say, in ascending order.
  case invalidShares(indices: [UInt8])
  /// The commitments don't fit the scheme, or the rebuilt secret doesn't fit the commitments.
  case inconsistentCommitments
  /// A possession proof that doesn't hold for the statement.
  case proofRejected
  /// A value of the wrong length or outside its range; the field is named.
  case malformed(field: String)
  /// Not 2 ≤ data count ≤ fragment count ≤ 255, or a length of zero or over the limit.
  case invalidDispersal
  /// Not as many distinct fragments between 1 and the fragment count as decoding needs.
  case invalidFragments
  /// There is no such stripe, or memory given for it has the wrong length.
  case invalidStripe(UInt64)
  /// A Merkle tree without leaves or with more than the limit, or nodes of the wrong length.
  case invalidTree
  /// A piece that is not the one its root commits to.
  case pieceRejected(number: UInt64)
  /// The cryptographic library refused.
  case sodium(SodiumError)
}

/// What the library's errors are called in this module.
func sodium<Result: ~Copyable>(_ body: @autoclosure () throws(SodiumError) -> Result) throws(ShamirError) -> Result {
  do throws(SodiumError) { return try body() } catch { throw .sodium(error) }
}
