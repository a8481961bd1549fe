import ArgumentParser
import Glibc
import ShamirKit
import Testing

@testable import SecretVault
@testable import VaultCLI

@Suite("Commands about keys and items")
struct ItemCommandTests {
  private func words(_ line: String) -> [String] { line.split(separator: " ").map(String.init) }

  private static let item = ItemSummary(
    id: String(repeating: "ab", count: 32), keyID: Samples.id, key: "family", name: "photo \u{1B}.jpg", kind: "file",
    mediaType: "image/jpeg", byteCount: 1200, itemByteCount: 2000, hasPassword: false, description: nil, state: .new,
    origin: .sent, sender: "Bob", isSealedToPublicHalf: false, receivedAt: Samples.at)

  private static let unopened = ItemSummary(
    id: String(repeating: "cd", count: 32), keyID: Samples.id, key: "family", name: nil, kind: nil, mediaType: nil,
    byteCount: nil, itemByteCount: 2000, hasPassword: nil, description: "hello", state: .waiting, origin: .sent,
    sender: "Bob", isSealedToPublicHalf: true, receivedAt: Samples.at)

  private static let keyID = SecretID(high: 1, low: 2)

  @Test(arguments: [
    "key create family --threshold 2", "key create family --threshold 2 --to Bob --no-labels", "key list",
    "key recipient family", "key identity family --json", "age-plugin --age-plugin=identity-v1",
    "item add family f", "item add family -", "item add family - --name letters.tar",
    "item add family --photo f.jpg --description words", "item add family f --public", "item list",
    "item list family", "item show x", "item show x -o f", "item show x -o - --offset 5 --length 7",
    "item export x", "item export x --armor -o -", "item import f", "item import -", "item accept", "item accept x",
    "item accept x --from Bob", "item accept --from Bob", "item delete x --from Bob",
    "item send x Bob", "item copy x --to other", "item copy x --to other --public", "item qr x", "item qr x --png f",
    "item delete x", "item delete x --yes", "encrypt --key family", "encrypt --key family f -o g --armor",
    "decrypt", "decrypt f -o g --json", "peer scan f --no-import",
  ])
  func isAccepted(line: String) throws {
    _ = try Root.parseAsRoot(words(line))
  }

  @Test(arguments: [
    "key recipient", "key identity", "age-plugin", "age-plugin --age-plugin=recipient-v1",
    "age-plugin --age-plugin=identity-v1 --passphrase-fd 0", "key create family", "key create family --threshold 1",
    "key create family --threshold 3 --to Bob",
    "item add family", "item add family f --photo g", "item add family f --name g", "item show",
    "item show x --offset 5", "item show x -o - --json", "item send x", "item copy x", "item qr x --png f --svg g",
    "encrypt f", "encrypt --key family --json", "decrypt --json", "item export x -o - --json",
    "item add family - --passphrase-fd 0", "item import - --passphrase-fd 0", "encrypt --key x --passphrase-fd 0",
    "decrypt --passphrase-fd 0", "item add family f --offset 3", "item show x -o f --offset -3",
  ])
  func isAUsageError(line: String) {
    let error = #expect(throws: (any Error).self) { try Root.parseAsRoot(words(line)) }
    if let error { #expect(Root.exitCode(for: error).rawValue == ExitCodes.usage) }
  }

  @Test(arguments: [
    "key create x --threshold 2", "key list", "key recipient x", "key identity x", "item add x f", "item list",
    "item show x", "item export x",
    "item import f", "item accept", "item send x y", "item copy x --to y", "item qr x", "item delete x",
    "encrypt --key x", "decrypt",
  ])
  func everyCommandTakesTheCommonOptions(line: String) throws {
    let command = try Root.parseAsRoot(words(line) + words("--home /h --quiet --passphrase-file f"))
    let opened = try #require(command as? any OpenedCommand)
    #expect(opened.global.home == "/h" && opened.global.quiet)
    #expect(opened.unlock.passphrase == .file("f"))
  }

  @Test func streamsThatACommandNeedsAreSaid() throws {
    func needed(_ line: String) throws -> Set<Int32> {
      try #require(try Root.parseAsRoot(words(line)) as? any UnlockingCommand).neededStreams
    }
    #expect(try needed("encrypt --key x") == [STDIN_FILENO, STDOUT_FILENO])
    #expect(try needed("encrypt --key x f -o g") == [])
    #expect(try needed("decrypt - -o g") == [STDIN_FILENO])
    #expect(try needed("item add x -") == [STDIN_FILENO])
    #expect(try needed("item show x -o -") == [STDOUT_FILENO])
    #expect(try needed("item import f") == [])
    #expect(try needed("age-plugin --age-plugin=identity-v1") == [STDIN_FILENO, STDOUT_FILENO])
  }

  @Test func jsonHasTheDocumentedKeysInTheirOrder() {
    let expected = #"""
      {"id":"\#(Self.item.id)","keyID":"\#(Samples.id)","key":"family","name":"photo \u001b.jpg","kind":"file",\#
      "mediaType":"image/jpeg","bytes":1200,"itemBytes":2000,"hasPassword":false,"description":null,"state":"new",\#
      "origin":"sent","sender":"Bob","sealedToPublicHalf":false,"receivedAt":"2026-11-21T03:15:54.120Z"}
      """#
    #expect(Self.item.json.text == expected)
    var report = ItemReport(item: nil, key: "family", path: "./x", suggestedName: "x", byteCount: 5)
    report.originalName = ".x"
    let written = #""path":"./x","suggestedName":"x","bytes":5,"originalName":".x""#
    #expect(report.json.text == #"{"item":null,"key":"family",\#(written)}"#)
    let key = KeySummary(secret: Samples.held, items: 3, newItems: 1, hasPublicHalf: true, isUnlocked: false)
    #expect(
      key.json.text
        == #"{"key":\#(Samples.held.json.text),"items":3,"newItems":1,"hasPublicHalf":true,"unlocked":false}"#)
    let recipient = KeyRecipient(id: Self.keyID, name: "family", publicHalf: [UInt8](repeating: 0, count: 32))
    #expect(
      recipient.json.text == #"{"id":"\#(Self.keyID)","name":"family","recipient":"\#(recipient.ageText)"}"#)
    #expect(
      recipient.json(identity: "AGE").text
        == #"{"id":"\#(Self.keyID)","name":"family","recipient":"\#(recipient.ageText)","identity":"AGE"}"#)
  }

  @Test func tablesSayWhatIsNewAndWhatIsNotKnown() {
    let lines = ItemListCommand.table([Self.item, Self.unopened], now: Samples.at).lines
    #expect(lines[0].contains("ID") && lines[0].contains("STATE"))
    #expect(lines[1].contains("photo \\u{1b}.jpg") && lines[1].contains("image/jpeg") && lines[1].contains("new"))
    #expect(lines[2].contains("hello") && lines[2].contains("not opened") && lines[2].contains("waiting"))
    #expect(lines[2].contains("at most 2.0 kB"))
    let facts = ItemShowCommand.facts(Self.unopened, now: Samples.at).joined(separator: "\n")
    #expect(facts.contains("anybody who knows the key's public half") && facts.contains("sent by Bob"))
    let key = KeySummary(secret: Samples.secret, items: 3, newItems: 1, hasPublicHalf: true, isUnlocked: true)
    #expect(KeyListCommand.table([key], now: Samples.at).lines[1].contains("3, 1 new"))
  }

  @Test func mediaTypesAreToldByFirstBytesOrNames() {
    #expect(MediaType.of([0xFF, 0xD8, 0xFF, 0xE1]) == "image/jpeg")
    #expect(MediaType.of([0, 0, 0, 24] + Array("ftypheic".utf8)) == "image/heic")
    #expect(MediaType.of([0, 0, 0, 24] + Array("ftypisom".utf8)) == "video/mp4")
    #expect(MediaType.of([0, 0, 0, 24] + Array("ftypqt  ".utf8)) == "video/quicktime")
    #expect(MediaType.of(Array("hello, world".utf8)) == nil)
    #expect(MediaType.of([0xFF]) == nil)
    #expect(MediaType.of("a/b.tar") == "application/x-tar")
    #expect(MediaType.of("a.b/Notes.TXT") == "text/plain")
    #expect(MediaType.of("a.txt/none") == "" && MediaType.of("a.txt/\u{301}none") == "")
    #expect(MediaType.of(".txt") == "text/plain")
  }
}
