import PeerAuth
import SecretVault
import Testing

@testable import VaultCLI

@Suite("Cards and addresses as users type them")
struct PeerTextTests {
  @Test(arguments: [
    ("alice.example.org:4721", "alice.example.org:4721"), ("127.0.0.1:1", "127.0.0.1:1"),
    ("[2001:DB8:0::7]:4721", "[2001:db8::7]:4721"),
  ])
  func addressesAreHostAndPort(text: String, address: String) throws {
    #expect(PeerText.text(try PeerText.address(text)) == address)
  }

  @Test(arguments: ["nowhere", "", ":1", "a:", "a:b", "a:0", "a:65536", "2001:db8::7:4721", "[::1]", "a b:1", "-a:1"])
  func anythingElseIsAUsageErrorThatShowsTheForm(text: String) {
    do {
      _ = try PeerText.address(text)
      Issue.record("\(text) was taken")
    } catch {
      #expect(VaultError(error).code == .usage)
      #expect(VaultError(error).hint?.contains("HOST:PORT") == true)
    }
  }

  @Test func aDamagedCardIsTold() {
    do {
      _ = try PeerText.card("vaultpeer1qqqqqqqq")
      Issue.record("a damaged card was taken")
    } catch {
      #expect(VaultError(error).code == .damaged)
      #expect(VaultError(error).reason.hasPrefix("this card is damaged: "))
    }
  }

  @Test func onlyTheBeginningOfAFingerprintIsInTheTable() {
    #expect(PeerText.short("01234 56789 01234 56789 01234") == "01234 56789 …")
    #expect(PeerText.short("x") == "x")
  }
}
