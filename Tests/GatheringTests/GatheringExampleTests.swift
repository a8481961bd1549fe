import Foundation
import PeerAuth
import Sodium
import Testing

@testable import Gathering

/// Regenerates the example in `docs/formats/gathering.md` and compares it with the text there.
@Suite("The walked example of a gathering") struct GatheringExampleTests {
  private func lines(_ title: String, _ bytes: [UInt8]) -> String {
    let text = hexadecimal(bytes)
    var result = title + "\n"
    var rest = text[...]
    while !rest.isEmpty {
      result += "  " + rest.prefix(96) + "\n"
      rest = rest.dropFirst(96)
    }
    return result
  }

  private func identity(_ byte: UInt8) throws -> Identity {
    let parts: [[UInt8]] = (0..<3).map { [UInt8](repeating: byte + $0, count: 32) }
    return try Identity(stored: secret([1] + parts.flatMap { $0 }))
  }

  /// Drawings whose bytes are all the same: `first`, then one more each time. A code is always the same.
  private func chance(from first: UInt8) -> GatheringChance {
    var next = first
    return { (count) throws(SodiumError) in
      if count == GatheringCode.chanceByteCount {
        // Number 7, words 545 and 395.
        let drawn: [UInt8] = [0, 6, 2, 0x21, 1, 0x8b]
        return try SecretBytes(copying: drawn.span.bytes)
      }
      defer { next &+= 1 }
      let drawn = [UInt8](repeating: next, count: count)
      return try SecretBytes(copying: drawn.span.bytes)
    }
  }

  @Test("is what the code makes of the same inputs") func example() throws {
    let (alice, bob) = (try identity(0x01), try identity(0x11))
    let opener = try GatheringOpener(
      card: alice.card(label: "Alice", serial: 1, beaconKey: [UInt8](repeating: 0x41, count: 16)), identity: alice,
      at: .zero, chance: chance(from: 0x21))
    let code = opener.code.text
    let guest = try GatheringGuest(
      code: GatheringCode(reading: code),
      card: bob.card(label: "Bob", serial: 2, beaconKey: [UInt8](repeating: 0x42, count: 16)), identity: bob, at: .zero,
      chance: chance(from: 0x31))
    var example = "Code\n  \(code)\n"
    let password = opener.code.password.withUnsafeBytes { Array($0) }
    example += lines("Password", password)

    // What was said, in order, with the length in front.
    var said: [(from: String, bytes: [UInt8])] = []
    var shown: [GatheringList] = []
    var imported: [[PeerCard]] = []
    var id: GatheringOpener.ID?
    func ofOpener(_ actions: [GatheringOpener.Action]) {
      for action in actions {
        switch action {
        case .send(let bytes, _):
          said.append(("Alice", bytes))
          ofGuest(guest.receive(bytes, at: .zero))
        case .compare(let list): shown.append(list)
        case .finished(let cards): imported.append(cards)
        default: break
        }
      }
    }
    func ofGuest(_ actions: [GatheringGuest.Action]) {
      for action in actions {
        switch action {
        case .send(let bytes):
          said.append(("Bob", bytes))
          if let id { ofOpener(opener.receive(bytes, from: id, at: .zero)) }
        case .compare(let list): shown.append(list)
        case .finished(let cards): imported.append(cards)
        default: break
        }
      }
    }
    let connected = opener.connected(at: .zero)
    id = connected.id
    ofOpener(connected.actions)
    ofOpener(opener.close(at: .zero))
    ofOpener(opener.say(true, at: .zero))
    ofGuest(guest.say(true, at: .zero))
    #expect(imported.count == 2)
    #expect(shown.count == 2 && shown[0].check == shown[1].check)

    // The same once more from what went over, by the documents' formulas.
    guard case .greeting(let number, let opening, let nonce) = try message(said[0].bytes),
      case .hello(let guestNonce, let guestShare, let guestCommitment) = try message(said[1].bytes),
      case .answer(let openerShare, let openerCommitment) = try message(said[2].bytes)
    else { throw RawOpener.Unexpected() }
    let channel = GatheringInputs.channel(number: number, opening: opening)
    let generator = try CPace.generator(
      password: secret(password), channel: channel, session: nonce + guestNonce)
    let side = try CPace(
      .initiator, password: secret(password), channel: channel, session: nonce + guestNonce,
      associated: GatheringInputs.associated(.initiator, guestCommitment),
      scalar: RistrettoScalar.reduced(secret([UInt8](repeating: 0x33, count: 64))))
    let share = side.share
    #expect(share == guestShare)
    let keys = try side.finish(
      share: openerShare, associated: GatheringInputs.associated(.responder, openerCommitment))
    example += lines("CI", channel)
    example += lines("Generator", generator.withUnsafeBytes { Array($0) })
    example += lines("ISK", keys.key.withUnsafeBytes { Array($0) })
    let fromGuest = try keys.derived("vault/gathering-from-guest/v1").withUnsafeBytes { Array($0) }
    let fromOpener = try keys.derived("vault/gathering-from-opener/v1").withUnsafeBytes { Array($0) }
    example += lines("Key from the guest", fromGuest)
    example += lines("Key from the opener", fromOpener)

    let names = [
      "greeting", "hello", "answer", "confirmation", "confirmation", "list", "reveal", "revealed", "said yes", "yes",
      "keyed", "key",
    ]
    #expect(said.count == names.count)
    var openerFrames = GatheringFrames()
    var guestFrames = GatheringFrames()
    try openerFrames.seal(keys, .initiator)
    try guestFrames.seal(keys, .responder)
    for (place, (words, name)) in zip(said, names).enumerated() {
      guard place >= 5 else {
        example += lines("\(words.from): \(name)", Array(words.bytes.dropFirst(2)))
        continue
      }
      let opened: GatheringMessage?
      if words.from == "Alice" {
        openerFrames.append(words.bytes)
        opened = try openerFrames.next()
      } else {
        guestFrames.append(words.bytes)
        opened = try guestFrames.next()
      }
      example += lines("\(words.from): \(name)", try #require(opened).encoded())
      // The list goes as it is; yes has zeros behind it.
      if place == 5 || place == 9 {
        example += lines("\(words.from): \(name), sealed", Array(words.bytes.dropFirst(2)))
      }
    }
    let list = shown[0]
    var roll = try Roll(opening: opening, commitments: [openerCommitment, guestCommitment])
    try roll.add(Reveal(card: list.cards[0], subkey: [UInt8](repeating: 0x22, count: 32)), at: 0)
    try roll.add(Reveal(card: list.cards[1], subkey: [UInt8](repeating: 0x31, count: 32)), at: 1)
    example += lines("Transcript", try roll.transcript().bytes)
    example += "Check\n  \(list.check)\n"

    let document = String(decoding: try repositoryFile("../../docs/formats/gathering.md"), as: UTF8.self)
    #expect(document.contains("```\n" + example + "```\n"), "the example should read:\n\(example)")
  }

  private static let python = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    .map { "\($0)/python3" }.first { FileManager.default.isExecutableFile(atPath: $0) }
  private static let isPythonDue = python != nil || ProcessInfo.processInfo.environment["CI"] != nil

  @Test(
    "is also what a program makes that shares nothing with this one",
    .enabled(if: isPythonDue, "python3 isn't installed"))
  func independent() throws {
    let process = Process()
    process.executableURL = URL(filePath: try #require(Self.python))
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appending(path: "../../docs/formats/gathering.py").standardizedFileURL
    // Isolated, and without leaving compiled files beside the page.
    process.arguments = ["-I", "-B", script.path]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(text.hasSuffix("Transcript\nCheck\n"))
  }

  private func message(_ framed: [UInt8]) throws -> GatheringMessage {
    try GatheringMessage.decode(Array(framed.dropFirst(2)), limit: GatheringMessage.clearLimit)
  }
}
