import Sodium
import Testing

@testable import Gathering

@Suite("Codes, words and group checks") struct CodeTests {
  private let words = (0..<GatheringWords.count).map { GatheringWords.letters(GatheringWords.word($0)) }

  @Test("there are 1,024 words of three to seven small letters, in alphabetic order") func list() {
    #expect(GatheringWords.packed.count == 1024)
    #expect(words == words.sorted())
    #expect(words.allSatisfy { (3...7).contains($0.utf8.count) && $0.utf8.allSatisfy { (0x61...0x7a).contains($0) } })
  }

  @Test("no two words begin with the same four letters, and none becomes another by one letter") func distances() {
    #expect(Set(words.map { $0.prefix(4) }).count == words.count)
    let all = Set(words)
    // Without the letter at the same place they would be the same; or one is the other without a letter.
    var shortened: Set<String> = []
    for word in words {
      for place in word.indices {
        let shorter = String(word[..<place] + word[word.index(after: place)...])
        #expect(shortened.insert("\(word.distance(from: word.startIndex, to: place))\(shorter)").inserted)
        #expect(!all.contains(shorter))
      }
    }
  }

  @Test(
    "upper and lower case, spaces and hyphens, whole words and their beginnings are the same code",
    arguments: ["7-maple-harbor", "7 maple harbor", "07-MAPLE-Harbor", "  7 - mapl harb "])
  func reading(text: String) throws {
    let read = try GatheringCode(reading: text)
    let (number, shown) = (read.number, read.text)
    #expect(number == 7)
    #expect(shown == "7-maple-harbor")
    let same = read.password.matches(try mapleHarbor().password)
    #expect(same)
  }

  @Test(
    "what is no number and two words is no code",
    arguments: [
      "", "7", "7-maple", "maple-harbor", "7-maple-harbor-7", "0-maple-harbor", "100-maple-harbor", "7-map1e-harbor",
      "7-mäple-harbor", "-7-", "seven-maple-harbor", "7_maple_harbor", String(repeating: "7-maple-harbor", count: 9),
    ])
  func refused(text: String) {
    #expect(throws: GatheringCodeError.notACode) { _ = try GatheringCode(reading: text) }
  }

  @Test("unknown words, beginnings of several, and beginnings of two letters are told apart") func unknown() {
    #expect(throws: GatheringCodeError.unknownWord) { _ = try GatheringCode(reading: "7-maples-harbor") }
    #expect(throws: GatheringCodeError.unknownWord) { _ = try GatheringCode(reading: "7-ma-harbor") }
    #expect(throws: GatheringCodeError.unknownWord) { _ = try GatheringCode(reading: "7-qqqq-harbor") }
    #expect(throws: GatheringCodeError.severalWords) { _ = try GatheringCode(reading: "7-mar-harbor") }
  }

  @Test("each word is read as itself, and so are its first four letters") func everyWord() throws {
    for word in words {
      for text in [word, String(word.prefix(4))] {
        #expect(try GatheringWords.find(Array(text.utf8)) == GatheringWords.packed(Array(word.utf8)))
      }
    }
  }

  @Test("a drawn code is read back as the same password") func drawn() throws {
    var seen: Set<String> = []
    for _ in 0..<50 {
      let code = try GatheringCode(chance: SecretBytes(random: 6))
      let (text, number) = (code.text, code.number)
      let back = try GatheringCode(reading: text)
      let same = back.password.matches(code.password) && back.number == number
      #expect(same)
      #expect((1...99).contains(number))
      seen.insert(text)
    }
    #expect(seen.count > 40)
  }

  @Test("a check is three words, and differs with its transcript") func check() throws {
    var seen: Set<GroupCheck> = []
    for byte in 0..<100 {
      let check = try GroupCheck(transcript: Digest([UInt8](repeating: UInt8(byte), count: 32)))
      #expect(check.words.count == 3 && check.words.allSatisfy(words.contains))
      seen.insert(check)
    }
    #expect(seen.count == 100)
  }
}
