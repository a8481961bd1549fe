import Courier
import Testing

@testable import SecretVault
@testable import VaultCLI

@Suite("Carrying for people")
struct CarryTextTests {
  private func words(isOn: Bool, pausedBecause reason: String? = nil) -> String {
    CarryText.words(
      CarryStatus(
        isOn: isOn, battery: nil, limits: CarryingLimits(), account: CarryingAccount(), carried: 1, carriedBytes: 4096,
        leftToday: 0, isOverFairShare: false, pausedBecause: reason, encounters: []))
  }

  @Test func whatIsHereIsNotPromisedToGoOnByItself() {
    #expect(
      words(isOn: false, pausedBecause: "the setting carry is off")
        == "off: nothing more is taken; what is here goes on only where somebody is met anyway")
    #expect(words(isOn: true, pausedBecause: "it is late") == "on, but nothing is taken now: it is late")
    #expect(words(isOn: true) == "on")
  }

  @Test func helpSaysSoToo() {
    let help = CarryOffCommand.helpMessage().split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(help.contains("goes on only where it meets somebody anyway"))
  }
}
