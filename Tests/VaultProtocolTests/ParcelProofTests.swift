import Sodium
import Testing
import WireCodec

@testable import VaultProtocol

@Suite("The proof that a parcel has arrived")
struct ParcelProofTests {
  private let seed: ParcelSeed
  private let id: ParcelID

  init() throws {
    seed = try ParcelSeed.fresh()
    id = try seed.parcelID()
  }

  @Test("is checked by everybody against the id, and by who knows the seed against the branch", arguments: UInt8(0)...5)
  func genuine(branch: UInt8) throws {
    let proof = try seed.proof(branch: branch)
    #expect(proof.count == ParcelProof.byteCount)
    #expect(ParcelProof.isGenuine(proof, for: id))
    for other in UInt8(0)...5 { #expect(ParcelProof.isGenuine(proof, branch: other, seed: seed) == (other == branch)) }
  }

  @Test("is none for another parcel")
  func otherParcel() throws {
    let other = try ParcelSeed.fresh()
    let proof = try other.proof(branch: 1)
    #expect(!ParcelProof.isGenuine(proof, for: id))
    #expect(!ParcelProof.isGenuine(proof, branch: 1, seed: seed))
  }

  @Test("doesn't hold when a bit is another, or its length")
  func damaged() throws {
    let proof = try seed.proof(branch: 2)
    for place in proof.indices {
      var changed = proof
      changed[place] ^= UInt8(1) << UInt8.random(in: 0...7)
      #expect(!ParcelProof.isGenuine(changed, branch: 2, seed: seed), "byte \(place)")
      // The last 16 bytes say nothing to those who don't know the seed.
      #expect(ParcelProof.isGenuine(changed, for: id) == (place >= 32), "byte \(place)")
    }
    for wrong in [[], Array(proof.dropLast()), proof + [0], Array(proof.prefix(32))] {
      #expect(!ParcelProof.isGenuine(wrong, for: id))
      #expect(!ParcelProof.isGenuine(wrong, branch: 2, seed: seed))
    }
  }

  @Test("of one branch doesn't give that of another to those who don't know the seed")
  func otherBranch() throws {
    let (one, other) = (try seed.proof(branch: 0), try seed.proof(branch: 1))
    #expect(one.prefix(32) == other.prefix(32))
    #expect(one.suffix(16) != other.suffix(16))
  }

  @Test("follows from a seed of 32 bytes that is another one each time")
  func seeds() throws {
    #expect(try ParcelSeed.fresh() != ParcelSeed.fresh())
    for count in [0, 31, 33] { #expect(ParcelSeed([UInt8](repeating: 1, count: count)) == nil) }
    #expect(ParcelSeed(seed.bytes) == seed)
  }

  @Test("stands in a receipt that has one encoding")
  func receipt() throws {
    let receipt = ParcelReceipt(id: id, branch: 3, expiresAt: 1 << 48, proof: try seed.proof(branch: 3))
    let bytes = try receipt.encoded()
    #expect(bytes.count == ParcelReceipt.byteCount)
    #expect(try ParcelReceipt.decode(bytes, limit: 73) == receipt)
    func refusal(_ place: Int, _ new: [UInt8]) -> WireError? {
      let changed = Array(bytes.prefix(place)) + new + bytes.dropFirst(place + new.count)
      return wireError { () throws(WireError) in _ = try ParcelReceipt.decode(changed, limit: 73) }
    }
    #expect(refusal(0, [UInt8](repeating: 0, count: 16)) == .invalidValue(field: "parcel id"))
    #expect(refusal(16, [6]) == .invalidValue(field: "receipt branch"))
    for time in [UInt64(0), 1 << 48 + 1, .max] {
      #expect(refusal(17, bigEndian(time)) == .invalidValue(field: "receipt expiry"))
    }
  }

  @Test("isn't written with values that its reader refuses")
  func unwritten() throws {
    let proof = try seed.proof(branch: 0)
    let receipts = [
      ParcelReceipt(id: id, branch: 6, expiresAt: 1, proof: proof),
      ParcelReceipt(id: id, branch: 0, expiresAt: 0, proof: proof),
      ParcelReceipt(id: id, branch: 0, expiresAt: -1, proof: proof),
      ParcelReceipt(id: id, branch: 0, expiresAt: 1 << 48 + 1, proof: proof),
      ParcelReceipt(id: id, branch: 0, expiresAt: 1, proof: Array(proof.dropLast())),
    ]
    for receipt in receipts { #expect(throws: WireError.self) { _ = try receipt.encoded() } }
  }
}
