import ShamirKit
import Sodium
import Testing
import WireCodec

@testable import Grouper

/// f(k, n): blobs of messages.
@Suite struct ProtectionTests {
  private func scheme(_ threshold: Int, _ count: Int) throws -> ThresholdScheme {
    try ThresholdScheme(threshold: threshold, shareCount: count)
  }

  @Test(arguments: [1, 200, 1020, 1021, 70_000, 576 << 10])
  func anyThresholdOfBlobsGivesTheMessageBack(_ count: Int) throws {
    let group = try PaperGroup()
    let message = try Randomness.bytes(count)
    let dealing = try MessageDealing(message, scheme: scheme(2, 4), key: group.key)
    for pair in [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3], [3, 0], [0, 1, 2, 3]] {
      let result = try BlobCombiner.combine(pair.map { dealing.blobs[$0] }, key: group.key)
      #expect(result.message == message)
      #expect(result.faulty.isEmpty)
    }
  }

  @Test func fewerThanTheThresholdGiveNothing() throws {
    let group = try PaperGroup()
    let dealing = try MessageDealing([1, 2, 3], scheme: scheme(3, 5), key: group.key)
    #expect(throws: GroupError.sharing(.tooFewShares(have: 2, need: 3))) {
      try BlobCombiner.combine(Array(dealing.blobs.prefix(2)), key: group.key)
    }
    #expect(throws: GroupError.sharing(.tooFewShares(have: 1, need: 3))) {
      try BlobCombiner.combine([dealing.blobs[0], dealing.blobs[0], dealing.blobs[0]], key: group.key)
    }
  }

  @Test func allBlobsTogetherGiveNothingWithoutTheGroupsKey() throws {
    let group = try PaperGroup()
    let dealing = try MessageDealing([1, 2, 3], scheme: scheme(2, 3), key: group.key)
    let other = try EpochKey.random(group: group.roster.group, epoch: 1)
    #expect(groupError { _ = try BlobCombiner.combine(dealing.blobs, key: other) }?.isForged == true)
    // The same key serves no other group and no other epoch.
    let bytes = group.key.secret.withUnsafeBytes { Array($0) }
    let elsewhere = try EpochKey(group: .random(), epoch: 1, secret: SecretBytes(copying: bytes.span.bytes))
    #expect(groupError { _ = try BlobCombiner.combine(dealing.blobs, key: elsewhere) }?.isForged == true)
    let later = try EpochKey(group: group.roster.group, epoch: 2, secret: SecretBytes(copying: bytes.span.bytes))
    #expect(throws: GroupError.unknownEpoch(1)) { try BlobCombiner.combine(dealing.blobs, key: later) }
  }

  @Test func everyDamagedByteIsNoticed() throws {
    let group = try PaperGroup()
    let blob = try MessageDealing([1, 2, 3], scheme: scheme(2, 3), key: group.key).blobs[1]
    for place in blob.indices {
      var damaged = blob
      damaged[place] ^= 1
      #expect(groupError { _ = try GroupBlob.open(damaged, key: group.key) } != nil, "byte \(place)")
    }
    for count in [0, 1, 5, 29, 31, 100, blob.count - 1] {
      #expect(groupError { _ = try GroupBlob.open(Array(blob.prefix(count)), key: group.key) } != nil)
    }
    #expect(groupError { _ = try GroupBlob.open(blob + [0], key: group.key) }?.isForged == true)
  }

  @Test func aMembersFalseShareIsNamedAndDoneWithout() throws {
    let group = try PaperGroup()
    let dealing = try MessageDealing([9, 9], scheme: scheme(2, 4), key: group.key)
    let honest = try GroupBlob.open(dealing.blobs[1], key: group.key)
    let header = honest.header
    let fragment = honest.fragment
    let zeros = try KeyShare(index: 2, bytes: SecretBytes(zeros: KeyShare.byteCount))
    let false2 = try GroupBlob.seal(
      header: header, share: zeros, fragment: fragment, nonce: Randomness.bytes(24), key: group.key)
    let result = try BlobCombiner.combine([false2, dealing.blobs[2], dealing.blobs[3]], key: group.key)
    #expect(result.message == [9, 9])
    #expect(result.faulty == [2])
  }

  @Test func blobsOfTwoDealingsDontMix() throws {
    let group = try PaperGroup()
    let one = try MessageDealing([1], scheme: scheme(2, 3), key: group.key)
    let two = try MessageDealing([1], scheme: scheme(2, 3), key: group.key)
    #expect(throws: GroupError.forged("a blob of another dealing")) {
      try BlobCombiner.combine([one.blobs[0], two.blobs[1]], key: group.key)
    }
    // Nor does one that a member has made up under another's dealing: it has another name.
    let honest = try GroupBlob.open(one.blobs[0], key: group.key)
    let common = honest.header.common
    let forged = BlobHeader.Common(
      dealing: common.dealing, scheme: common.scheme, ciphertextByteCount: common.ciphertextByteCount,
      commitments: common.commitments, fragmentDigests: common.fragmentDigests.reversed())
    #expect(try forged.name() != common.name())
    let other = try GroupBlob.open(one.blobs[2], key: group.key)
    let otherCommon = other.header.common
    #expect(try otherCommon.name() == common.name())
  }

  @Test func nothingInTwoServersBlobsIsAlike() throws {
    let group = try PaperGroup()
    let dealing = try MessageDealing([UInt8](repeating: 7, count: 3000), scheme: scheme(2, 3), key: group.key)
    // Beyond version, epoch and the length of the box, no eight bytes are in both.
    let head = 1 + 4
    func windows(_ blob: [UInt8]) -> Set<[UInt8]> {
      Set((head..<(blob.count - 8)).map { Array(blob[$0..<($0 + 8)]) })
    }
    #expect(windows(dealing.blobs[0]).isDisjoint(with: windows(dealing.blobs[1])))
    #expect(!dealing.blobs.contains { windows($0).contains(Array(dealing.id.bytes.prefix(8))) })
  }

  @Test func messagesOfLikeLengthLookAlike() throws {
    let group = try PaperGroup()
    let lengths = try Set(
      [1, 323, 656, 1000].map { count in
        try MessageDealing([UInt8](repeating: 1, count: count), scheme: scheme(2, 3), key: group.key).blobs[0].count
      })
    #expect(lengths.count == 1)
  }
}
