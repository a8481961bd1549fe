import Testing

@testable import SecretVault

extension VaultTests {
  @Suite struct ParcelMemories {
    @Test func `whoever wants parcels to be looked at while somebody is at it has them looked at once more`() {
      let memory = ParcelMemory()
      #expect(memory.beginAnswering() && memory.looksAgain())
      for _ in 0..<2 { #expect(!memory.beginAnswering()) }
      #expect(memory.looksAgain() && !memory.looksAgain())
      #expect(memory.beginAnswering())
      memory.endAnswering()
      #expect(memory.beginAnswering())
    }
  }
}
