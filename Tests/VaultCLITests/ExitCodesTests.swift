import Testing

@testable import SecretVault
@testable import VaultCLI

@Suite("Exit codes")
struct ExitCodesTests {
  @Test(arguments: [
    (VaultError.Code.usage, Int32(64)), (.noVault, 1), (.vaultExists, 1), (.notFound, 1), (.ambiguous, 1),
    (.belowThreshold, 4), (.refused, 5), (.unreachable, 6), (.wrongPassphrase, 7), (.damaged, 8), (.outputExists, 9),
    (.wrongPassword, 10), (.awaitingConsent, 11),
    (.interrupted, 130), (.inputOutput, 1), (.other, 1),
  ])
  func everyErrorHasItsCode(code: VaultError.Code, exit: Int32) {
    #expect(ExitCodes.code(of: code) == exit)
  }

  @Test func sharingEndsWithHowMuchIsDelivered() {
    #expect(ExitCodes.code(of: Samples.report([.delivered, .delivered], threshold: 2)) == 0)
    #expect(ExitCodes.code(of: Samples.report([.delivered, .unreachable], threshold: 2)) == 2)
    #expect(ExitCodes.code(of: Samples.report([.waiting, .unreachable], threshold: 2)) == 3)
    #expect(ExitCodes.code(of: Samples.report([.delivered, .refused], threshold: 2, keepsOwnShare: false)) == 3)
    #expect(ExitCodes.code(of: []) == 0)
  }

  @Test func severalSharingsEndWithTheWorst() {
    let done = Samples.report([.delivered], threshold: 2)
    let partly = Samples.report([.delivered, .waiting], threshold: 2)
    let hardly = Samples.report([.waiting], threshold: 2)
    #expect(ExitCodes.code(of: [done, hardly, partly]) == 3)
    #expect(ExitCodes.code(of: [done, partly]) == 2)
  }
}
