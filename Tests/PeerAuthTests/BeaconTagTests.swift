import Sodium
import Testing

@testable import PeerAuth

@Suite("Beacon tags")
struct BeaconTagTests {
  private func key(_ first: UInt8) throws -> SecretBytes {
    let bytes = (0..<16).map { first &+ $0 }
    return try SecretBytes(copying: bytes.span.bytes)
  }

  private func beacon(_ first: UInt8) throws -> BeaconKey {
    let key = try key(first)
    return try BeaconKey(key)
  }

  // Computed with Python's hashlib: blake2b(digest_size=32, key=bytes(range(16))) over the label and the hour behind their lengths.
  @Test("a tag is what the format says")
  func vector() throws {
    let key = try key(0)
    let tag = try BeaconTag(key: key, hour: 495_000)
    #expect(tag.bytes == [0xB3, 0x83, 0xE6, 0x9B, 0x6D, 0x5D, 0x70, 0x00])
  }

  @Test("a tag holds for its hour, and is taken an hour before and after")
  func hours() throws {
    let hour: Int64 = 3_600_000
    let beacon = try beacon(1)
    let tag = try beacon.tag(at: 1000 * hour)
    #expect(try beacon.tag(at: 1001 * hour - 1) == tag)
    #expect(try beacon.tag(at: 1001 * hour) != tag)
    for time in [999 * hour, 1000 * hour + 1, 1002 * hour - 1] { #expect(try beacon.tags(at: time).contains(tag)) }
    for time in [999 * hour - 1, 1002 * hour] { #expect(try !beacon.tags(at: time).contains(tag)) }
    #expect(BeaconTag.end(of: BeaconTag.hour(at: 1000 * hour + 5)) == 1001 * hour)
    #expect(try beacon.tags(at: -5).contains(beacon.tag(at: 0)))
    #expect(BeaconTag.end(of: .max) == .max)
  }

  @Test("whoever lacks the card can't tell which of two tags belongs to the device seen an hour ago")
  func unlinkable() throws {
    // The best that somebody without the key can do is to compare bits: those of the same device in the next hour are no nearer than
    // those of others. Of 64 bits 32 differ on average, whoever's they are.
    func distance(_ one: BeaconTag, _ other: BeaconTag) -> Int {
      zip(one.bytes, other.bytes).reduce(0) { $0 + ($1.0 ^ $1.1).nonzeroBitCount }
    }
    var own = 0
    var others = 0
    var seen = Set<BeaconTag>()
    for round in 0..<200 {
      let mine = try SecretBytes(random: 16)
      let foreign = try SecretBytes(random: 16)
      let hour = UInt64(490_000 + round)
      let now = try BeaconTag(key: mine, hour: hour)
      let next = try BeaconTag(key: mine, hour: hour + 1)
      let other = try BeaconTag(key: foreign, hour: hour + 1)
      own += distance(now, next)
      others += distance(now, other)
      seen.formUnion([now, next, other])
    }
    #expect(seen.count == 600)
    // 200 tags of 64 fair bits: a mean of 6400 and a standard deviation of 57; ten of those are never passed.
    #expect((5830...6970).contains(own))
    #expect((5830...6970).contains(others))
  }

  @Test("another key recognises nothing, and one of another length is none")
  func otherKeys() throws {
    let mine = try beacon(1)
    let other = try beacon(2)
    #expect(try mine.tags(at: 5_000_000_000).isDisjoint(with: other.tags(at: 5_000_000_000)))
    #expect(throws: SodiumError.invalidLength(expected: 16, actual: 15)) {
      let short = try SecretBytes(zeros: 15)
      _ = try BeaconKey(short)
    }
    #expect(BeaconTag([1, 2, 3]) == nil)
    #expect(BeaconTag([1, 2, 3, 4, 5, 6, 7, 8])?.bytes == [1, 2, 3, 4, 5, 6, 7, 8])
  }
}
