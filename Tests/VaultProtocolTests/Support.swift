import PeerAuth
import ShamirKit
import Sodium
import WireCodec

@testable import VaultProtocol

func randomDigest() throws -> Digest { try Digest(Randomness.bytes(32)) }

func secret(_ bytes: [UInt8]) throws -> SecretBytes { try SecretBytes(copying: bytes.span.bytes) }

/// The public bytes of a share, for tests that compare or damage them.
func exposed(_ secret: borrowing SecretBytes) -> [UInt8] { secret.withUnsafeBytes { Array($0) } }

/// Secret bytes that several hold.
func held(_ bytes: [UInt8]) throws -> HeldSecret { HeldSecret(try secret(bytes)) }

/// Their public bytes, for tests that compare them.
func exposed(_ held: HeldSecret) -> [UInt8] { exposed(held.bytes) }

/// Runs `body` and returns what it threw.
func protocolError(_ body: () throws(ProtocolError) -> Void) -> ProtocolError? {
  do throws(ProtocolError) {
    try body()
    return nil
  } catch {
    return error
  }
}

/// Runs `body` and returns what it threw.
func wireError(_ body: () throws(WireError) -> Void) -> WireError? {
  do throws(WireError) {
    try body()
    return nil
  } catch {
    return error
  }
}

/// A secret dealt to freshly made holders; holder 1 has share 1.
final class DealtSecret {
  let dealer: Identity
  let holders: [Identity]
  let dealing: Dealing
  let salts: [[UInt8]]
  let content: SecretHeader.Content
  let header: SecretHeader

  /// `roots` makes the fragments' roots from the secret's id; random ones if it isn't given.
  init(
    threshold: Int, shareCount: Int, byteCount: UInt64 = 5000, description: String = "", labels: [String]? = nil,
    dealer: Identity? = nil, roots: ((SecretID) throws -> [Digest])? = nil
  ) throws {
    let scheme = try ThresholdScheme(threshold: threshold, shareCount: shareCount)
    let dealer = try dealer ?? Identity.generate()
    let nonce = try Randomness.bytes(16)
    let id = try SecretHeader.id(dealerKey: dealer.keys.signing, nonce: nonce)
    var holders: [Identity] = []
    var salts: [[UInt8]] = []
    var rows: [Digest] = []
    for index in 1...shareCount {
      let holder = try Identity.generate()
      let salt = try Randomness.bytes(32)
      let row = try HolderRow.digest(
        secret: id, index: UInt8(index), card: holder.keys.digest, salt: salt.span.bytes)
      holders.append(holder)
      salts.append(salt)
      rows.append(row)
    }
    self.dealer = dealer
    self.holders = holders
    self.salts = salts
    dealing = try Dealing.fresh(scheme)
    let commitments = dealing.commitments
    content = SecretHeader.Content(
      nonce: nonce, kind: 1, scheme: scheme, createdAt: .random(in: 0...(.max)), ciphertextByteCount: byteCount,
      description: description, labels: labels, commitments: commitments,
      roots: try roots?(id) ?? (1...shareCount).map { _ in try randomDigest() }, rows: rows)
    header = try SecretHeader.sign(content, by: dealer)
  }

  /// A scheme drawn anew: 2 ≤ t ≤ n ≤ `limit`.
  static func random(upTo limit: Int = 8) throws -> DealtSecret {
    let shareCount = Int.random(in: 2...limit)
    return try DealtSecret(threshold: .random(in: 2...shareCount), shareCount: shareCount)
  }

  func holder(_ index: UInt8) -> Identity { holders[Int(index) - 1] }

  func salt(_ index: UInt8) -> [UInt8] { salts[Int(index) - 1] }

  /// The same secret under a header that differs in its description alone.
  func otherHeader(description: String) throws -> SecretHeader {
    var content = content
    content.description = description
    return try SecretHeader.sign(content, by: dealer)
  }

  /// Share `index`, sealed for its holder.
  func sealed(_ index: UInt8) throws -> [UInt8] {
    let share = try dealing.share(index)
    let salt = try secret(salt(index))
    return try SealedShare.seal(
      share, salt: salt, header: header, dealer: dealer.keys.digest, recipient: holder(index).keys)
  }

  /// The 64 bytes of share `index`.
  func shareBytes(_ index: UInt8) throws -> [UInt8] {
    let share = try dealing.share(index)
    return exposed(share.bytes)
  }
}

/// A header put together field by field, with whatever fault a test wants, and signed all the same.
struct HeaderParts {
  var version: UInt8 = 1
  var suite: UInt8 = 1
  var dealerKey: [UInt8]
  var nonce: [UInt8]
  var kind: UInt8
  var threshold: UInt8
  var shareCount: UInt8
  var dataCount: UInt8
  var created: UInt64
  var ciphertextByteCount: UInt64
  var description: [UInt8]
  var labelsFlag: UInt8
  var labels: [[UInt8]]
  var commitments: [UInt8]
  var roots: [[UInt8]]
  var rows: [[UInt8]]
  var extensions: [UInt8] = [0, 0]

  init(_ header: SecretHeader) throws {
    dealerKey = header.dealerKey
    nonce = header.nonce
    kind = header.kind
    threshold = UInt8(header.scheme.threshold)
    shareCount = UInt8(header.scheme.shareCount)
    dataCount = threshold
    created = UInt64(header.createdAt)
    ciphertextByteCount = header.dispersal.byteCount
    description = Array(header.description.utf8)
    labelsFlag = header.labels == nil ? 0 : 1
    labels = (header.labels ?? []).map { Array($0.utf8) }
    commitments = try header.commitments.encoded()
    roots = header.roots.map(\.bytes)
    rows = header.rows.map(\.bytes)
  }

  var unsigned: [UInt8] {
    var bytes = [version, suite] + dealerKey + nonce + [kind, threshold, shareCount, dataCount]
    bytes += bigEndian(created) + bigEndian(ciphertextByteCount) + text(description) + [labelsFlag]
    for label in labels { bytes += text(label) }
    return bytes + commitments + roots.joined() + rows.joined() + extensions
  }

  func signed(by identity: Identity) throws -> [UInt8] {
    var hash = try DomainHash("vault/header/v1")
    hash.append(unsigned)
    return unsigned + (try identity.sign(hash.digest()))
  }

  private func text(_ bytes: [UInt8]) -> [UInt8] { bigEndian(UInt16(bytes.count)) + bytes }
}

func bigEndian(_ number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

/// What reading these bytes as a header throws.
func refusal(ofHeader bytes: [UInt8]) -> ProtocolError? {
  protocolError { () throws(ProtocolError) in _ = try SecretHeader(bytes: bytes) }
}

extension ParcelID {
  /// A name that nothing has yet.
  static func fresh() throws -> ParcelID { try ParcelSeed.fresh().parcelID() }
}
