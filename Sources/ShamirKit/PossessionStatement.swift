public import Sodium

/// What a possession proof is good for. A proof for one purpose never serves another.
public enum ProofPurpose: UInt8, Hashable, Sendable, CaseIterable {
  /// Releasing shares.
  case release = 1
  /// A drill: is the share still there? Never authorises a release.
  case drill = 2
  /// Taking part in a change of the sharing.
  case lifecycle = 3
}

/// Which side of a dialogue proves.
public enum ProofRole: UInt8, Hashable, Sendable, CaseIterable {
  /// The one who asks for a share.
  case requester = 1
  case holder = 2
}

/// Where, between whom and when a proof holds: it is worthless in any other place.
public struct ProofContext: Hashable, Sendable {
  /// What the binding is taken from.
  public enum Kind: UInt8, Hashable, Sendable, CaseIterable {
    /// The hash of a handshake.
    case session = 1
    /// The digest of a parcel.
    case parcel = 2
    /// The digest of what a holder deals when the sharing changes: the proof is part of it, for everybody to check.
    case dealing = 3
  }
  /// Bytes of a binding and of a nonce.
  public static let byteCount = 32

  /// What the binding is taken from.
  public let kind: Kind
  /// 32 bytes that are the same on both sides of this dialogue and of no other.
  public let binding: [UInt8]
  /// Card digest of whoever proves.
  public let proverCard: Digest
  /// Card digest of whoever checks.
  public let verifierCard: Digest
  /// The prover's side.
  public let role: ProofRole
  /// 32 fresh bytes of the verifier's, drawn before it saw the proof and used once.
  public let verifierNonce: [UInt8]

  /// Throws ``ShamirError/malformed(field:)`` unless binding and nonce are 32 bytes each.
  public init(
    kind: Kind, binding: [UInt8], proverCard: Digest, verifierCard: Digest, role: ProofRole, verifierNonce: [UInt8]
  ) throws(ShamirError) {
    guard binding.count == Self.byteCount else { throw .malformed(field: "binding") }
    guard verifierNonce.count == Self.byteCount else { throw .malformed(field: "verifier nonce") }
    self.kind = kind
    self.binding = binding
    self.proverCard = proverCard
    self.verifierCard = verifierCard
    self.role = role
    self.verifierNonce = verifierNonce
  }
}

/// "The prover knows share `index` of this secret in this epoch", said for one purpose in one context.
public struct PossessionStatement: Hashable, Sendable {
  /// What the proof is good for.
  public let purpose: ProofPurpose
  public let headerDigest: Digest
  public let secretID: SecretID
  public let epoch: UInt32
  public let index: UInt8
  /// Y_i. A verifier computes it from its own header, never takes it from the prover.
  public let evaluation: RistrettoPoint
  /// Where and between whom.
  public let context: ProofContext

  /// `evaluation` is ``Commitments/evaluation(at:)``; a verifier computes it itself, never takes it from the prover.
  public init(
    purpose: ProofPurpose, headerDigest: Digest, secretID: SecretID, epoch: UInt32, index: UInt8,
    evaluation: RistrettoPoint, context: ProofContext
  ) {
    self.purpose = purpose
    self.headerDigest = headerDigest
    self.secretID = secretID
    self.epoch = epoch
    self.index = index
    self.evaluation = evaluation
    self.context = context
  }

  /// Adds every part to a hash; the prover's commitment A stands after Y_i once it is known.
  func append(to hash: inout WideDomainHash, commitment: RistrettoPoint? = nil) {
    hash.append(UInt64(purpose.rawValue))
    hash.append(headerDigest)
    hash.append(secretID.bytes)
    hash.append(UInt64(epoch))
    hash.append(UInt64(index))
    hash.append(evaluation.bytes)
    if let commitment { hash.append(commitment.bytes) }
    hash.append(context.proverCard)
    hash.append(context.verifierCard)
    hash.append(UInt64(context.role.rawValue))
    hash.append(UInt64(context.kind.rawValue))
    hash.append(context.binding)
    hash.append(context.verifierNonce)
  }
}
