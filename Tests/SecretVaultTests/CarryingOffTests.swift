import Testing

@testable import SecretVault

extension VaultTests {
  /// What becomes of what is carried when its carrier wants to carry no more.
  @Suite struct CarryingOff {
    @Test func `whoever is met anyway gets what is here`() async throws {
      let world = try TestWorld(3)
      let (ada, ben, cleo) = (world[0], world[1], world[2])
      try ada.say("by hand", to: cleo)
      #expect(try await ada.meet(ben).given == 1)
      _ = try ben.vault.core.set("carry", to: "off")
      #expect(try await ben.meet(cleo).handedOver == 1)
      #expect(try cleo.texts() == ["by hand"])
    }
  }
}
