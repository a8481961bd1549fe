import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault

extension VaultTests {
  @Suite struct DamagedAccounts {
    let world: TestWorld
    let account = AccountRecord(
      id: [UInt8](repeating: 7, count: 16), address: "ada@example.org", resource: "r", isCurrent: true)

    init() throws {
      world = try TestWorld(2)
      try world[0].vault.accounts.useAccount(account, password: held(Array("password".utf8)))
      try world[0].execute("UPDATE accounts SET sealed = zeroblob(length(sealed))")
    }

    private var ada: Vault { world[0].vault }

    @Test func `a damaged account stops no message`() throws {
      #expect(try ada.accounts.currentAccount() == nil)
      let sent = try ada.send("hello", to: "ben")
      #expect(try ada.messages.messages().map(\.number) == [sent.number])
      #expect(try ada.messages.outbox().messages.count == 1)
    }

    @Test func `a damaged account is counted, and goes when it is forgotten`() throws {
      #expect(try ada.accounts.damagedAccountCount() == 1)
      // The address is free at once.
      let again = AccountRecord(
        id: [UInt8](repeating: 8, count: 16), address: account.address, resource: "r", isCurrent: true)
      try ada.accounts.useAccount(again, password: held(Array("password".utf8)))
      #expect(try ada.accounts.forgetDamagedAccounts() == 1)
      #expect(try ada.accounts.accountRecords() == [again])
      #expect(try ada.accounts.forgetDamagedAccounts() == 0)
    }
  }
}
