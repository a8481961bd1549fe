import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault

extension VaultTests {
  /// Plain messages as they lie in the vault.
  @Suite struct PlainMessages {
    let world: TestWorld
    let account = [UInt8](repeating: 3, count: 16)

    init() throws {
      world = try TestWorld(1)
      try world[0].vault.logIn("ada@example.org")
    }

    private var ada: Vault { world[0].vault }

    private func message(
      _ text: String, _ number: Int, isMine: Bool = true, mark: PlainMark = PlainMark()
    ) throws -> PlainMessage {
      let id = [UInt8](repeating: 0, count: 12) + (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
      return PlainMessage(
        id: id, contact: "bob@example.org", isMine: isMine, text: try held(Array(text.utf8)),
        sentAt: world[0].environment.now(), mark: mark)
    }

    @discardableResult
    private func keep(_ message: PlainMessage) throws -> Int64 {
      try #require(try ada.messages.keepPlain(message, account: account, isSent: false))
    }

    private func damage(_ number: Int64) throws {
      try world[0].execute("UPDATE message_parts SET sealed = zeroblob(length(sealed)) WHERE number = \(number)")
    }

    @Test func `a text that is damaged is lost, and stops no other`() throws {
      let first = try keep(message("first", 1))
      try keep(message("second", 2))
      try damage(first)
      #expect(try ada.messages.plainWaiting(account).map { plain($0.text) } == [Array("second".utf8)])
      #expect(try ada.messages.message(first).state == "lost")
    }

    @Test func `a text that is damaged is like no other, and they are found all the same`() throws {
      let first = try keep(message("same", 1, isMine: false))
      let other = try message("same", 2, isMine: false)
      try keep(other)
      try damage(first)
      #expect(try ada.messages.plainMessages(like: other, account: account, within: 1000).map(\.id) == [other.id])
    }

    @Test(arguments: [(5, 7, true), (7, 5, true), (5, 8, false), (.min, .max, false), (.max, .max - 2, true)])
    func `times are near each other, whatever they are`(_ one: Int64, _ other: Int64, _ isNear: Bool) {
      #expect(SecretVault.Messages.isNear(one, other, within: 2) == isNear)
    }

    @Test func `the oldest go first, however many wait`() throws {
      for number in 1...120 { try keep(message("text \(number)", number)) }
      let first = try ada.messages.plainWaiting(account)
      #expect(first.count == 100)
      #expect(first.first.map { plain($0.text) } == Array("text 1".utf8))
      #expect(first.last.map { plain($0.text) } == Array("text 100".utf8))
    }

    @Test(arguments: [
      PlainMark(), PlainMark(kinds: [.none]), PlainMark(kinds: [.archive, .stamp], archived: [UInt8](0..<16)),
      PlainMark(archived: [UInt8](repeating: 255, count: 16)),
    ])
    func `what a message is known by is kept, and shown to nobody`(_ mark: PlainMark) throws {
      let one = try message("text", 1, isMine: false, mark: mark)
      let number = try keep(one)
      let known = try #require(
        try ada.messages.knownPlain(one.id, account: account, contact: one.contact, isMine: false))
      #expect(known.mark == mark)
      #expect(try ada.messages.message(number).route == "plain")
    }

    @Test func `what a message is known by grows`() throws {
      let one = try message("text", 1, isMine: false, mark: PlainMark(kinds: [.none]))
      try keep(one)
      func known() throws -> KnownPlain {
        try #require(try ada.messages.knownPlain(one.id, account: account, contact: one.contact, isMine: false))
      }
      let tag = [UInt8](repeating: 9, count: 8)
      for archived in [tag, [UInt8](repeating: 1, count: 8)] {
        try ada.messages.notePlain(
          known(), account: account, contact: one.contact, isMine: false,
          mark: PlainMark(kinds: [.archive], archived: archived))
      }
      #expect(try known().mark == PlainMark(kinds: [.archive, .none], archived: tag))
    }
  }
}
