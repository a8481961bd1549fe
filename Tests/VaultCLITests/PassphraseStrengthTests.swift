import Sodium
import Testing

@testable import VaultCLI

@Suite("What a passphrase is worth")
struct PassphraseStrengthTests {
  private func strength(_ text: String, label: String = "") throws -> PassphraseStrength {
    try PassphraseStrength(SecretBytes(copying: Array(text.utf8).span.bytes), label: label)
  }

  @Test(arguments: [
    "", "a", "password", "Password1", "PASSWORT123!", "12345678901234567890", "qwertyuiopasdfgh",
    "zzzzzzzzzzzzzzzzzzzz",
    "abcabcabcabcabcabcabcabc", "letmein2024", "hunter22", "iloveyouiloveyou", "987654321abcdefgh", "hauschen",
  ])
  func weakOnes(text: String) throws {
    #expect(try strength(text).bits < PassphraseStrength.enough)
  }

  @Test(arguments: [
    "correct horse", "open barley and sesame", "vK3rq81pZw2N", "sturm tasse vierzig blau", "Ünïcödé wörds hélp",
  ])
  func goodOnes(text: String) throws {
    #expect(try strength(text).bits >= PassphraseStrength.enough)
  }

  @Test func theLabelIsForeseenWhateverItsCase() throws {
    let (without, with) = (try strength("MARGARETHE-7h"), try strength("MARGARETHE-7h", label: "Margarethe"))
    #expect(with.unforeseen == without.unforeseen - 9)
    // Two letters are in anything.
    #expect(try strength("MARGARETHE-7h", label: "ar") == without)
  }

  @Test func aRunCountsByItsFirstTwoCharactersAndARepetitionOnce() throws {
    #expect(try strength("abcdef") == PassphraseStrength(unforeseen: 2, alphabet: 26))
    #expect(try strength("k7mk7mk7m") == PassphraseStrength(unforeseen: 3, alphabet: 36))
    #expect(try strength("no hi").unforeseen == 5)
  }

  @Test func theLongestOneIsMeasured() throws {
    #expect(try strength(String(repeating: "x", count: Passphrase.byteLimit)).unforeseen == 1)
  }
}
