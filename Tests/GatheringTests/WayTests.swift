import PeerAuth
import Sodium
import Testing
import WireCodec

@testable import Gathering

@Suite("What becomes of a gathering's messages on their way") struct WayTests {
  /// Runs a gathering of three whose way changes something; all users say yes.
  private func run(
    toGuest: @escaping (Int, [UInt8]) -> [[UInt8]] = { [$1] },
    toOpener: @escaping (Int, [UInt8]) -> [[UInt8]] = { [$1] }
  ) throws -> Table {
    let table = try Table(opener: Person("opener"))
    table.toGuest = toGuest
    table.toOpener = toOpener
    for name in ["one", "two"] { try table.come(Person(name)) }
    table.close()
    table.openerSays(true)
    for id in table.ids { table.says(id, true) }
    return table
  }

  @Test("a message to a guest that comes twice ends it", arguments: 0..<8) func replayed(which: Int) throws {
    var count = 0
    let table = try run(toGuest: { number, bytes in
      guard number == 0 else { return [bytes] }
      count += 1
      return count == which + 1 ? [bytes, bytes] : [bytes]
    })
    // Behind the last yes the guest is done, and deaf.
    #expect((table.cards(table.ids[0]) != nil) == (which == 7))
    #expect((table.failure(table.ids[0]) != nil) == (which < 7))
  }

  @Test("a message to the opener that comes twice ends it", arguments: 0..<4) func replayedToOpener(which: Int) throws {
    var count = 0
    let table = try run(toOpener: { number, bytes in
      guard number == 0 else { return [bytes] }
      count += 1
      return count == which + 1 ? [bytes, bytes] : [bytes]
    })
    #expect(table.cards(table.ids[0]) == nil)
    #expect(table.failure(table.ids[0]) != nil)
  }

  @Test("two messages to a guest in the wrong order end it") func reordered() throws {
    var held: [UInt8]?
    var count = 0
    let table = try run(toGuest: { number, bytes in
      guard number == 1 else { return [bytes] }
      count += 1
      // The two reveals of the others.
      if count == 5 {
        held = bytes
        return []
      }
      defer { held = nil }
      return held.map { [bytes, $0] } ?? [bytes]
    })
    #expect(table.failure(table.ids[1]) == .damaged)
    #expect(table.openerCards == nil)
  }

  @Test("a message that is cut off never counts") func truncated() throws {
    for cut in 0..<8 {
      var count = 0
      let table = try run(toGuest: { number, bytes in
        guard number == 0 else { return [bytes] }
        count += 1
        if count < cut + 1 { return [bytes] }
        return count == cut + 1 ? [Array(bytes.dropLast())] : []
      })
      #expect(table.cards(table.ids[0]) == nil)
    }
  }

  @Test("lengths outside the limits are refused before their bytes come") func lengths() throws {
    let table = try Table(opener: Person("opener"))
    for length in [[0, 0], [0, 129], [255, 255]] as [[UInt8]] {
      let id = try #require(table.opener.connected(at: .zero).id)
      table.take(table.opener.receive(length, from: id, at: .zero))
      #expect(table.hungUp(id))
    }
    let guest = try GatheringGuest(
      code: mapleHarbor(), card: Person("guest").own, identity: Identity.generate(), at: .zero)
    guard
      case .failed(.malformed(.limitExceeded(field: "frame", limit: 128)))? = guest.receive([1, 0], at: .zero).first
    else {
      Issue.record("a frame of 256 bytes in the clear")
      return
    }
  }

  @Test("whatever single bit changes on the way, nobody ends with another list than the others") func flipped() throws {
    for seed in 0..<120 {
      var place = 0
      let target = seed * 37
      let flip: (Int, [UInt8]) -> [[UInt8]] = { _, bytes in
        defer { place += bytes.count }
        guard (place..<(place + bytes.count)).contains(target) else { return [bytes] }
        var changed = bytes
        changed[target - place] ^= UInt8(1 << (seed % 8))
        return [changed]
      }
      let table = try run(toGuest: flip, toOpener: flip)
      var results = table.ids.compactMap { id in table.cards(id).map { _ in table.list(id) } }
      if table.openerCards != nil { results.append(table.openerList) }
      #expect(Set(results.map { $0?.cards }).count <= 1)
      #expect(Set(results.map { $0?.check }).count <= 1)
      // The whole run is shorter than the farthest place.
      if target < place { #expect(table.openerCards == nil || table.ids.contains { table.cards($0) == nil }) }
    }
  }

  @Test("each message is read back as it was written, and no byte more or fewer is taken") func coding() throws {
    let person = try Person("somebody")
    let digest = try Digest([UInt8](repeating: 1, count: 32))
    let bytes = [UInt8](repeating: 2, count: 32)
    let long = bytes + bytes
    let beacon = [UInt8](repeating: 3, count: 16)
    let yes = Yes(signature: long, binding: digest)
    let reveal = Reveal(card: person.card, subkey: bytes)
    let messages: [GatheringMessage] = [
      .greeting(number: 99, opening: bytes, nonce: bytes), .hello(nonce: bytes, share: bytes, commitment: digest),
      .answer(share: bytes, commitment: digest), .confirmation(long), .list([digest, digest]), .reveal(reveal),
      .revealed(position: 20, reveal), .yes(yes), .no, .saidYes(position: 0, yes), .key(beacon),
      .keyed(position: 20, beacon),
      .ended(.saidNo, position: 3, other: 0),
    ]
    for message in messages {
      let encoded = try message.encoded()
      #expect(try GatheringMessage.decode(encoded, limit: 4096) == message)
      #expect(throws: WireError.self) { try GatheringMessage.decode(encoded + [0], limit: 4096) }
      #expect(throws: WireError.self) { try GatheringMessage.decode(Array(encoded.dropLast()), limit: 4096) }
    }
    for refused in [
      [], [0], [5], [25], [23], [24, 21] + beacon, [22, 8, 0, 0], [22, 1, 21, 0], [22, 7, 0, 21], [16, 1] + bytes,
      [16, 22], [1, 2],
    ] as [[UInt8]] {
      #expect(throws: WireError.self) { try GatheringMessage.decode(refused, limit: 4096) }
    }
  }
  @Test("sealed messages show by their length neither names and addresses nor who says what") func padding() throws {
    let (short, long) = (try Person("a"), try Person(String(repeating: "a", count: 64)))
    let beacon = [UInt8](repeating: 3, count: 16)
    let yes = Yes(
      signature: [UInt8](repeating: 1, count: 64), binding: try Digest([UInt8](repeating: 3, count: 32)))
    let reveals = [short, long].flatMap { person -> [GatheringMessage] in
      let reveal = Reveal(card: person.card, subkey: [UInt8](repeating: 1, count: 32))
      return [.reveal(reveal), .revealed(position: 1, reveal)]
    }
    #expect(Set(try reveals.map { try $0.padded().count }) == [2084])
    let words: [GatheringMessage] = [
      .yes(yes), .no, .saidYes(position: 1, yes), .key(beacon), .keyed(position: 1, beacon),
      .ended(.saidNo, position: 1, other: 0),
    ]
    #expect(Set(try words.map { try $0.padded().count }) == [98])
    for message in reveals + words {
      let padded = try message.padded()
      #expect(try GatheringMessage.unpadded(padded) == message)
      let more = padded + [0]
      #expect(throws: WireError.self) { try GatheringMessage.unpadded(more) }
    }
    for message in [reveals[0], .no] {
      var marked = try message.padded()
      marked[marked.count - 1] = 1
      #expect(throws: WireError.invalidValue(field: "padding")) { try GatheringMessage.unpadded(marked) }
      let bare = try message.encoded()
      #expect(throws: WireError.invalidValue(field: "padding")) { try GatheringMessage.unpadded(bare) }
    }
  }
}
