import ShamirKit
import Sodium
import Testing
import VaultStore

@testable import SecretVault
@testable import VaultCLI

@Suite("The list of secrets")
struct SecretListTextTests {
  /// A list of these, packed as the store packs it.
  private static func list(_ summaries: [SecretSummary]) throws -> SecretList {
    var listing = SecretListing()
    var dealers: [String] = []
    for summary in summaries {
      let start = listing.texts.count
      listing.texts += summary.description.map { Array($0.utf8) } ?? []
      let place = dealers.firstIndex(of: summary.dealer) ?? dealers.count
      if place == dealers.count { dealers.append(summary.dealer) }
      let kind = (0...255).first { SecretList.kind(UInt8($0)) == summary.kind }
      listing.lines.append(
        SecretListing.Line(
          id: try #require(SecretID(named: summary.id)), dealer: place,
          description: summary.description == nil ? nil : start..<listing.texts.count,
          kind: UInt8(try #require(kind)), origin: summary.origin == .dealt ? .dealt : .held,
          threshold: UInt8(summary.threshold), shareCount: UInt8(summary.shareCount),
          ownIndex: UInt8(summary.ownIndex ?? 0), createdAt: summary.createdAt,
          delivered: Int32(summary.delivered ?? 0), waiting: Int32(summary.waiting ?? 0)))
    }
    return SecretList(listing: listing, dealers: dealers)
  }

  private static func text(_ parts: [[UInt8]]) -> String { String(decoding: parts.joined(), as: UTF8.self) }

  @Test("is a table for people")
  func table() throws {
    let list = try Self.list([Samples.secret, Samples.held])
    #expect(
      Self.text(SecretListText(list).table(now: Samples.at + 120_000)) == """
        ID            DESCRIPTION     KIND  FROM   NEEDS   DELIVERED     CREATED
        4be1c0ffee00  house "keys"\\n  file  you    2 of 3  1, 1 waiting  2 minutes ago
        4be1c0ffee00  -               note  Carol  2 of 3  -             2 minutes ago

        """)
  }

  @Test("is nothing, or an empty array, when there are none")
  func empty() throws {
    let text = SecretListText(try Self.list([]))
    #expect(text.table(now: 0).isEmpty)
    #expect(Self.text(text.json()) == "[]\n")
  }

  static let now: Int64 = 1_800_000_000_000

  /// Secrets with everything that is hard to show, more than one processor takes at a time.
  private static func awkward() -> [SecretSummary] {
    let descriptions: [String?] = [
      nil, "", "plain", "house \"keys\" \\ \n\t\u{7}", "漢字 and ｗｉｄｅ", "e\u{301} 🔒 👩‍👩‍👧", "\u{202E}turned", "\u{1B}[2J",
      "\u{E000}",
      String(repeating: "x", count: 199), String(repeating: "x", count: 200), String(repeating: "x", count: 201),
      String(repeating: "é", count: 201), " spaces at the end  ", "\u{7F}", "~",
    ]
    let dealers = ["Carol", "a former peer", "Zoë \"Z\"\\", "\u{202E}x", "李", String(repeating: "n", count: 300)]
    let kinds = ["file", "note", "password", "contact", "key", "unknown"]
    let ages: [Int64] = [
      0, 59_999, 60_000, 119_999, 3_599_999, 3_600_000, 86_399_999, 86_400_000, 30 * 86_400_000 - 1, 30 * 86_400_000,
      31 * 86_400_000, 400 * 86_400_000, -1, -60_000, -60_001, -86_400_000, now, now + 1, now + 86_400_001,
    ]
    return (0..<9000).map { number in
      let isDealt = number % 3 == 0
      return SecretSummary(
        id: hexadecimal((0..<16).map { UInt8(truncatingIfNeeded: number &* 2_654_435_761 >> ($0 * 3)) }),
        description: descriptions[number % descriptions.count], kind: kinds[number % kinds.count],
        origin: isDealt ? .dealt : .held, dealer: isDealt ? "you" : dealers[number % dealers.count],
        threshold: 2 + number % 254, shareCount: 255, ownIndex: number % 5 == 0 ? nil : 1 + number % 255,
        createdAt: now - ages[number % ages.count] - (number % 7 == 0 ? Int64(number) * 1_234_567 : 0),
        delivered: isDealt ? number % 300 : nil, waiting: isDealt ? number % 4 : nil)
    }
  }

  @Test("says of each what its summary says, byte by byte")
  func sameAsOneByOne() throws {
    let summaries = Self.awkward()
    let list = try Self.list(summaries)
    #expect(list.listing.lines.map { list.summary($0) } == summaries)
    let text = SecretListText(list)
    #expect(Self.text(text.json()) == JSONValue.array(summaries.map(\.json)).text + "\n")
    var table = TextTable("ID", "DESCRIPTION", "KIND", "FROM", "NEEDS", "DELIVERED", "CREATED")
    for secret in summaries {
      let waiting = secret.waiting ?? 0
      table.add(
        String(secret.id.prefix(12)), secret.description ?? "-", secret.kind, secret.dealer,
        "\(secret.threshold) of \(secret.shareCount)",
        secret.delivered.map { waiting == 0 ? "\($0)" : "\($0), \(waiting) waiting" } ?? "-",
        Measures.ago(secret.createdAt, now: Self.now))
    }
    let lines = Self.text(text.table(now: Self.now)).split(separator: "\n", omittingEmptySubsequences: false)
    let expected = table.lines + [""]
    #expect(lines.count == expected.count)
    let different = zip(lines, expected).first { $0 != $1 }
    #expect(different == nil)
  }
}
