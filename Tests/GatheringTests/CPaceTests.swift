import Foundation
import Sodium
import Testing

@testable import Gathering

@Suite("CPace") struct CPaceTests {
  struct File: Decodable {
    let G_Coffee25519: Run
    let G_Coffee25519_points: Points
  }
  struct Run: Decodable { let PRS, CI, sid, g, ya, ADa, Ya, yb, ADb, Yb, K, ISK_IR: Data }
  struct Points: Decodable {
    struct Valid: Decodable {
      let scalar, element, product: Data
      enum CodingKeys: String, CodingKey {
        case scalar = "s"
        case element = "X"
        case product = "G.scalar_mult_vfy(s,X)"
      }
    }
    let valid: Valid
    let invalid: Data
    enum CodingKeys: String, CodingKey {
      case valid = "Valid"
      case invalid = "Invalid Y"
    }
  }

  private func vectors() throws -> File {
    try JSONDecoder().decode(File.self, from: repositoryFile("Vectors/cpace.json"))
  }

  private func side(
    _ role: CPace.Role, _ password: String = "maple", channel: String = "ci", session: String = "sid",
    associated: String
  ) throws -> CPace {
    try CPace(
      role, password: secret(Array(password.utf8)), channel: Array(channel.utf8), session: Array(session.utf8),
      associated: Array(associated.utf8), scalar: RistrettoScalar.random())
  }

  @Test("the draft's vectors hold: generator, shares, shared element and key on both sides") func official() throws {
    let vector = try vectors().G_Coffee25519
    let password = try secret(Array(vector.PRS))
    let generator = try CPace.generator(password: password, channel: Array(vector.CI), session: Array(vector.sid))
    #expect(generator.withUnsafeBytes { Data($0) } == vector.g)
    let initiator = try CPace(
      .initiator, password: password, channel: Array(vector.CI), session: Array(vector.sid),
      associated: Array(vector.ADa), scalar: secret(Array(vector.ya)))
    let responder = try CPace(
      .responder, password: password, channel: Array(vector.CI), session: Array(vector.sid),
      associated: Array(vector.ADb), scalar: secret(Array(vector.yb)))
    let shares = [initiator.share, responder.share]
    #expect(shares == [Array(vector.Ya), Array(vector.Yb)])
    let theirs = shares[1]
    let shared = try CPace.element(theirs.span.bytes, by: secret(Array(vector.ya)))
    #expect(shared.withUnsafeBytes { Data($0) } == vector.K)
    let first = try initiator.finish(share: shares[1], associated: Array(vector.ADb))
    let second = try responder.finish(share: shares[0], associated: Array(vector.ADa))
    let keys = [first.key.withUnsafeBytes { Data($0) }, second.key.withUnsafeBytes { Data($0) }]
    #expect(keys == [vector.ISK_IR, vector.ISK_IR])
  }

  @Test("scalar_mult_vfy gives the draft's product, and refuses its invalid point and the neutral element")
  func points() throws {
    let points = try vectors().G_Coffee25519_points
    let scalar = try secret(Array(points.valid.scalar))
    let element = Array(points.valid.element)
    let product = try CPace.element(element.span.bytes, by: scalar)
    #expect(product.withUnsafeBytes { Data($0) } == points.valid.product)
    for refused in [Array(points.invalid), [UInt8](repeating: 0, count: 32)] {
      #expect(throws: CPaceError.invalidShare) { _ = try CPace.element(refused.span.bytes, by: scalar) }
      #expect(throws: CPaceError.invalidShare) {
        let one = try side(.responder, associated: "b")
        _ = try one.finish(share: refused, associated: [])
      }
    }
  }

  @Test("a share of another length is refused", arguments: [0, 31, 33]) func length(count: Int) throws {
    #expect(throws: CPaceError.invalidShare) {
      let one = try side(.initiator, associated: "a")
      _ = try one.finish(share: [UInt8](repeating: 1, count: count), associated: [])
    }
  }

  @Test("the draft's lv_cat writes lengths of a byte and of two") func strings() throws {
    #expect(try lengthValues(Array("1234".utf8), []) == [4, 0x31, 0x32, 0x33, 0x34, 0])
    let long = (0..<128).map { UInt8($0) }
    #expect(try lengthValues(long, Array(long.dropLast())) == [0x80, 1] + long + [0x7f] + long.dropLast())
  }

  @Test("two sides that know the same confirm each other; a fresh run has other shares and keys") func agreement()
    throws
  {
    var seen: Set<[UInt8]> = []
    for _ in 0..<8 {
      let one = try side(.initiator, associated: "a")
      let two = try side(.responder, associated: "b")
      let shares = [one.share, two.share]
      let first = try one.finish(share: shares[1], associated: Array("b".utf8))
      let second = try two.finish(share: shares[0], associated: Array("a".utf8))
      let tags = [try first.confirmation(), try second.confirmation()]
      let confirmed = [try first.isConfirmed(by: tags[1]), try second.isConfirmed(by: tags[0])]
      #expect(confirmed == [true, true])
      let reflected = [try first.isConfirmed(by: tags[0]), try second.isConfirmed(by: tags[1])]
      #expect(reflected == [false, false])
      seen.formUnion(shares + tags)
    }
    #expect(seen.count == 8 * 4)
  }

  @Test(
    "what differs anywhere, password, channel, session, data or a share, ends without confirmation",
    arguments: ["password", "channel", "session", "own data", "peer's data", "share", "roles"])
  func difference(what: String) throws {
    let one = try side(.initiator, associated: "a")
    let two = try side(
      what == "roles" ? .initiator : .responder, what == "password" ? "mapls" : "maple",
      channel: what == "channel" ? "ci2" : "ci", session: what == "session" ? "sie" : "sid",
      associated: what == "own data" ? "c" : "b")
    let other = try side(.initiator, associated: "a")
    let shares = [one.share, two.share, other.share]
    let first = try one.finish(share: shares[1], associated: Array("b".utf8))
    let second = try two.finish(
      share: shares[what == "share" ? 2 : 0], associated: Array((what == "peer's data" ? "d" : "a").utf8))
    let tags = [try first.confirmation(), try second.confirmation()]
    let confirmed = [try first.isConfirmed(by: tags[1]), try second.isConfirmed(by: tags[0])]
    #expect(confirmed == [false, false])
  }

  @Test("a confirmation with any byte changed, or cut short, confirms nothing") func changedConfirmation() throws {
    let one = try side(.initiator, associated: "a")
    let two = try side(.responder, associated: "b")
    let shares = [one.share, two.share]
    let first = try one.finish(share: shares[1], associated: Array("b".utf8))
    let tag = try two.finish(share: shares[0], associated: Array("a".utf8)).confirmation()
    for place in tag.indices {
      var changed = tag
      changed[place] ^= 1
      let confirmed = try first.isConfirmed(by: changed)
      #expect(!confirmed)
    }
    let short = try first.isConfirmed(by: Array(tag.dropLast()))
    let empty = try first.isConfirmed(by: [])
    #expect(!short && !empty)
  }
}
