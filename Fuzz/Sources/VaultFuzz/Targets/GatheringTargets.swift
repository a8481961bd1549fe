@testable import Gathering
import PeerAuth
import Sodium
import WireCodec

/// Codes as people type them, messages of a gathering, and both sides of one against strangers, a hostile way, and
/// somebody who knows the code.
enum GatheringTargets {
  static let all = [
    FuzzTarget("gathering-code", upTo: 100) { try readCode($0) },
    FuzzTarget("gathering-message", upTo: 4200) { bytes in
      _ = try canonical(GatheringMessage.self, bytes, limit: GatheringMessage.sealedLimit)
      return true
    },
    FuzzTarget("gathering", upTo: 2000, judges: false) { bytes in
      try play(bytes)
      return true
    },
    FuzzTarget("gathering-guest", upTo: 8000, judges: false) { bytes in
      try deceiveGuest(bytes)
      return true
    },
    FuzzTarget("gathering-opener", upTo: 8000, judges: false) { bytes in
      try deceiveOpener(bytes)
      return true
    },
  ]

  private static var people: [Identity] { HeaderTargets.example.people }
  private static let cards = prepared {
    try owned.map(\.published)
  }
  /// With their beacon keys.
  private static let owned = prepared {
    try people.map { try $0.card(label: "device", serial: 1, beaconKey: many(9, PeerCard.beaconKeyByteCount)) }
  }

  /// Chance that is the same for the same input.
  private static func chance(_ seed: UInt8) -> GatheringChance {
    var next = seed
    return { (count) throws(SodiumError) in
      next &+= 1
      let drawn = many(next, count)
      return try SecretBytes(copying: drawn.span.bytes)
    }
  }

  /// What is read as a code is shown as one that is read as the same.
  private static func readCode(_ bytes: [UInt8]) throws -> Bool {
    let code = try GatheringCode(reading: String(decoding: bytes, as: UTF8.self))
    let shown = try GatheringCode(reading: code.text)
    let same = shown.password.matches(code.password) && shown.number == code.number
    require(same, "a code is what it shows")
    return true
  }

  private static func opener() throws -> GatheringOpener {
    try GatheringOpener(card: owned[0], identity: people[0], at: .zero, chance: chance(0))
  }

  /// An opener and its guests, with an input that decides what becomes of their messages.
  private static func play(_ bytes: [UInt8]) throws {
    var tape = Tape(bytes)
    let opener = try opener()
    var guests: [(id: GatheringOpener.ID, guest: GatheringGuest)] = []
    var toOpener: [(GatheringOpener.ID, [UInt8])] = []
    var toGuest: [(GatheringOpener.ID, [UInt8])] = []
    var now = Duration.zero
    var lists: [GatheringList] = []
    var shown: [Int: GatheringList] = [:]
    func take(_ actions: [GatheringOpener.Action]) {
      for action in actions {
        switch action {
        case .send(let bytes, let id): toGuest.append((id, bytes))
        case .compare(let list): shown[-1] = list
        case .finished: if let list = shown[-1] { lists.append(list) }
        default: break
        }
      }
    }
    func take(_ actions: [GatheringGuest.Action], of place: Int) {
      for action in actions {
        switch action {
        case .send(let bytes): toOpener.append((guests[place].id, bytes))
        case .compare(let list): shown[place] = list
        case .finished: if let list = shown[place] { lists.append(list) }
        default: break
        }
      }
    }
    func deliver(_ change: (inout [UInt8]) -> Void) {
      if !toOpener.isEmpty {
        var (id, bytes) = toOpener.removeFirst()
        change(&bytes)
        take(opener.receive(bytes, from: id, at: now))
      } else if !toGuest.isEmpty {
        var (id, bytes) = toGuest.removeFirst()
        change(&bytes)
        guard let place = guests.firstIndex(where: { $0.id == id }) else { return }
        take(guests[place].guest.receive(bytes, at: now), of: place)
      }
    }
    while tape.hasMore {
      switch tape.byte() % 12 {
      case 0 where guests.count < cards.count - 1:
        let (id, actions) = opener.connected(at: now)
        guard let id else {
          take(actions)
          continue
        }
        let person = guests.count + 1
        let code = try GatheringCode(reading: opener.code.text)
        let guest = try GatheringGuest(
          code: code, card: owned[person], identity: people[person], at: now, chance: chance(UInt8(40 * person)))
        guests.append((id, guest))
        take(actions)
      case 1, 2: deliver { _ in }
      case 3:
        let (place, bit) = (tape.number(below: 1 << 12), tape.byte())
        deliver { if !$0.isEmpty { $0[place % $0.count] ^= bit } }
      case 4: deliver { $0 = [] }
      case 5: deliver { $0 += $0 }
      case 6:
        let more = tape.bytes(upTo: 300)
        deliver { $0 += more }
      case 7: take(opener.close(at: now))
      case 8: take(opener.say(tape.flag(), at: now))
      case 9:
        let place = tape.number(below: 4)
        if guests.indices.contains(place) { take(guests[place].guest.say(tape.flag(), at: now), of: place) }
      case 10:
        now += .seconds(Int(tape.byte()))
        take(opener.tick(at: now))
        for place in guests.indices { take(guests[place].guest.tick(at: now), of: place) }
      default:
        let place = tape.number(below: 4)
        if guests.indices.contains(place) { take(opener.lost(guests[place].id)) }
      }
      require(lists.allSatisfy { $0.cards == lists[0].cards && $0.check == lists[0].check }, "all have one list")
    }
  }

  /// Sealed messages, as the input says, from an opener that knows the code.
  private static func deceiveGuest(_ bytes: [UInt8]) throws {
    var tape = Tape(bytes)
    let code = try GatheringCode(reading: "7-maple-harbor")
    let guest = try GatheringGuest(
      code: GatheringCode(reading: "7-maple-harbor"), card: owned[1], identity: people[1], at: .zero,
      chance: chance(40))
    var frames = GatheringFrames()
    func take(_ actions: [GatheringGuest.Action]) {
      for case .send(let bytes) in actions { frames.append(bytes) }
    }
    let opening = many(5, 32)
    let subkey = many(6, 32)
    let commitment = try Commitment.of(cards[0], subkey.span.bytes, opening: opening)
    take(guest.receive(try frames.frame(.greeting(number: 7, opening: opening, nonce: many(1, 32))), at: .zero))
    guard case .hello(let nonce, let share, let theirs)? = try frames.next() else { violated("the guest answers") }
    let cpace = try CPace(
      .responder, password: code.password, channel: GatheringInputs.channel(number: 7, opening: opening),
      session: many(1, 32) + nonce, associated: GatheringInputs.associated(.responder, commitment), chance: chance(90))
    let ownShare = cpace.share
    let keys = try cpace.finish(share: share, associated: GatheringInputs.associated(.initiator, theirs))
    take(guest.receive(try frames.frame(.answer(share: ownShare, commitment: commitment)), at: .zero))
    _ = try frames.next()
    take(guest.receive(try frames.frame(.confirmation(keys.confirmation())), at: .zero))
    try frames.seal(keys, .responder)
    while tape.hasMore {
      let message: GatheringMessage
      switch tape.byte() % 6 {
      case 0: message = .list([commitment, theirs])
      case 1:
        message = .revealed(
          position: tape.byte() % 3, Reveal(card: cards[Int(tape.byte()) % cards.count], subkey: subkey))
      case 2: message = .saidYes(position: tape.byte() % 3, yes(&tape))
      case 3:
        take(guest.say(tape.flag(), at: .zero))
        continue
      default:
        guard let read = try? GatheringMessage.decode(tape.bytes(upTo: 4096), limit: 4096) else { continue }
        message = read
      }
      take(guest.receive(try frames.frame(message), at: .zero))
    }
  }

  private static let bound = prepared { try Digest(many(3, Digest.byteCount)) }

  private static func yes(_ tape: inout Tape) -> Yes {
    Yes(signature: tape.bytes(exactly: 64), binding: bound)
  }

  /// The same from a guest.
  private static func deceiveOpener(_ bytes: [UInt8]) throws {
    var tape = Tape(bytes)
    let opener = try opener()
    let (connection, greeting) = opener.connected(at: .zero)
    guard let id = connection else { violated("an opening takes a guest") }
    var frames = GatheringFrames()
    func take(_ actions: [GatheringOpener.Action]) {
      for case .send(let bytes, id) in actions { frames.append(bytes) }
    }
    take(greeting)
    guard case .greeting(let number, let opening, let nonce)? = try frames.next() else { violated("it greets") }
    let subkey = many(6, 32)
    let commitment = try Commitment.of(cards[1], subkey.span.bytes, opening: opening)
    let cpace = try CPace(
      .initiator, password: opener.code.password, channel: GatheringInputs.channel(number: number, opening: opening),
      session: nonce + many(1, 32), associated: GatheringInputs.associated(.initiator, commitment), chance: chance(90))
    let hello = GatheringMessage.hello(nonce: many(1, 32), share: cpace.share, commitment: commitment)
    take(opener.receive(try frames.frame(hello), from: id, at: .zero))
    guard case .answer(let share, let theirs)? = try frames.next() else { violated("it answers") }
    let keys = try cpace.finish(share: share, associated: GatheringInputs.associated(.responder, theirs))
    take(opener.receive(try frames.frame(.confirmation(keys.confirmation())), from: id, at: .zero))
    try frames.seal(keys, .initiator)
    while tape.hasMore {
      let message: GatheringMessage
      switch tape.byte() % 6 {
      case 0: message = .reveal(Reveal(card: cards[Int(tape.byte()) % cards.count], subkey: subkey))
      case 1: message = .yes(yes(&tape))
      case 2:
        take(opener.close(at: .zero))
        continue
      case 3:
        take(opener.say(tape.flag(), at: .zero))
        continue
      default:
        guard let read = try? GatheringMessage.decode(tape.bytes(upTo: 4096), limit: 4096) else { continue }
        message = read
      }
      take(opener.receive(try frames.frame(message), from: id, at: .zero))
    }
  }
}
