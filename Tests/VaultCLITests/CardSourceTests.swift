import Concurrency
import Glibc
import SecretVault
import Testing

@testable import VaultCLI

@Suite("What a user may name as a card")
struct CardSourceTests {
  @Test(arguments: ["vaultpeer1qqq", "VAULTPEER1QQQ", "VaultPeer1"])
  func anArgumentThatBeginsLikeACardIsOne(text: String) throws {
    #expect(try CardSource.texts(text) == [text])
  }

  @Test func aFileIsToldApartByItsFirstBytes() {
    #expect(CardSource.kind(of: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0]) == .picture)
    #expect(CardSource.kind(of: [0xFF, 0xD8, 0xFF, 0xE0]) == .picture)
    #expect(CardSource.kind(of: Array(" \n vaultpeer1qqq\n".utf8)) == .text)
    #expect(CardSource.kind(of: Array("VAULTPEER1QQQ".utf8)) == .text)
    #expect(CardSource.kind(of: Array("hello".utf8)) == .unknown)
    #expect(CardSource.kind(of: []) == .unknown)
    #expect(CardSource.kind(of: [UInt8](repeating: 0, count: 100_000)) == .unknown)
  }

  @Test func aTextFileIsTrimmed() throws {
    let folder = Shell.folder()
    Shell.file(folder + "/card", "\u{FEFF}  vaultpeer1qqq \r\n\n")
    #expect(try CardSource.texts(folder + "/card") == ["vaultpeer1qqq"])
    unlink(folder + "/card")
    rmdir(folder)
  }

  @Test func theScanHelpersAnswerIsTakenApartStrictly() throws {
    #expect(try ScanHelper.parse(Array("qr 5 aGVsbG8=\nqr 0 \n".utf8)) == [Array("hello".utf8), []])
    #expect(try ScanHelper.parse([]) == [])
    for broken in ["qr 4 aGVsbG8=\n", "qr x aGVsbG8=", "bar 5 aGVsbG8=", "qr 5", "qr 5 aGVsbG8", "qr 5 aGVsbG9="] {
      #expect(throws: VaultError.self) { try ScanHelper.parse(Array(broken.utf8)) }
    }
  }

  @Test func theHelperIsFoundBesideTheProgramOrInLibexec() {
    #expect(
      Subprocess.candidates(for: "vault-scan", beside: "/usr/bin/vault") == [
        "/usr/bin/vault-scan", "/usr/bin/../libexec/vault-scan",
      ])
  }
}
