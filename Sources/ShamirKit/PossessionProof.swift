import Sodium
public import WireCodec

/// Proof that somebody knows both scalars of a share, without showing anything of them.
///
/// Schnorr's identification over two generators (Okamoto, "Provably secure and practical identification schemes",
/// CRYPTO 1992), made non-interactive over the whole ``PossessionStatement``: A = k1·G + k2·H, c = SHA-512(statement,
/// A) mod ℓ, z1 = k1 + c·f(i), z2 = k2 + c·g(i).
///
/// Encoding: A, z1, z2; 32 bytes each.
public struct PossessionProof: WireValue, Hashable, Sendable {
  public static let byteCount = RistrettoPoint.byteCount + 2 * RistrettoScalar.byteCount

  private let commitment: RistrettoPoint
  /// z1, then z2.
  private let responses: [UInt8]

  /// Random bytes that go into the two nonces, 32 each.
  static let freshByteCount = 64

  /// Proves with given random bytes; fixed ones are for walked examples only.
  static func prove(
    _ share: borrowing KeyShare, _ statement: PossessionStatement, freshness: borrowing SecretBytes
  ) throws(ShamirError) -> PossessionProof {
    guard share.index == statement.index else { throw .foreignShare(index: share.index) }
    guard freshness.count == freshByteCount else { throw .malformed(field: "freshness") }
    return try sodium(compute(share, statement, freshness))
  }

  private static func compute(
    _ share: borrowing KeyShare, _ statement: PossessionStatement, _ freshness: borrowing SecretBytes
  ) throws(SodiumError) -> PossessionProof {
    // Hashing the share and the transcript too keeps the share safe when the random number generator repeats itself.
    let first = try nonce("vault/possess-nonce-1/v1", share, statement, freshness.bytes.extracting(first: 32))
    let second = try nonce("vault/possess-nonce-2/v1", share, statement, freshness.bytes.extracting(last: 32))
    let commitment = try RistrettoPoint.commitment(to: first, blinding: second)
    let challenge = try challenge(statement, commitment)
    let count = RistrettoScalar.byteCount
    var sums = try SecretBytes(zeros: KeyShare.byteCount)
    sums.withUnsafeMutableBytes { sums in
      first.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: sums[..<count]).copyMemory(from: $0) }
      second.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: sums[count...]).copyMemory(from: $0) }
      share.bytes.withUnsafeBytes { share in
        RistrettoScalar.multiplyAdd(share.octets, challenge.bytes, addingTo: sums.octets)
        RistrettoScalar.multiplyAdd(share.octets + count, challenge.bytes, addingTo: sums.octets + count)
      }
    }
    return PossessionProof(commitment: commitment, responses: sums.withUnsafeBytes { Array($0) })
  }

  private init(commitment: RistrettoPoint, responses: [UInt8]) {
    self.commitment = commitment
    self.responses = responses
  }

  func holds(for statement: PossessionStatement) throws(ShamirError) -> Bool {
    do throws(SodiumError) {
      let challenge = try Self.challenge(statement, commitment)
      let left = try responses.span.bytes.withUnsafeBytes { (responses) throws(SodiumError) in
        try RistrettoPoint.commitment(to: responses.octets, blinding: responses.octets + RistrettoScalar.byteCount)
      }
      return try left == commitment.adding(challenge.times(statement.evaluation))
    } catch { throw .sodium(error) }
  }

  private static func nonce(
    _ label: StaticString, _ share: borrowing KeyShare, _ statement: PossessionStatement, _ fresh: RawSpan
  ) throws(SodiumError) -> SecretBytes {
    var hash = try WideDomainHash(label)
    hash.append(share.bytes.bytes)
    statement.append(to: &hash)
    hash.append(fresh)
    return try RistrettoScalar.reduced(hash.secret())
  }

  private static func challenge(
    _ statement: PossessionStatement, _ commitment: RistrettoPoint
  ) throws(SodiumError) -> PublicScalar {
    var hash = try WideDomainHash("vault/possess/v1")
    statement.append(to: &hash, commitment: commitment)
    return try PublicScalar(reducing: hash.secret())
  }

  package var encodedByteCount: Int { Self.byteCount }

  /// Writes A, z1, z2.
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.bytes(commitment.bytes)
    try writer.bytes(responses)
  }

  /// Reads a proof; refuses a point that isn't canonical or is the identity, and scalars that aren't below ℓ.
  package init(from reader: inout Reader) throws(WireError) {
    let point = try reader.span(RistrettoPoint.byteCount, "proof commitment")
    do { commitment = try RistrettoPoint(received: point) } catch { throw .invalidValue(field: "proof commitment") }
    responses = try reader.bytes(2 * RistrettoScalar.byteCount, "proof response")
    let scalars = responses.span.bytes
    guard RistrettoScalar.isCanonical(scalars.extracting(first: RistrettoScalar.byteCount)),
      RistrettoScalar.isCanonical(scalars.extracting(last: RistrettoScalar.byteCount))
    else { throw .invalidValue(field: "proof response") }
  }
}
