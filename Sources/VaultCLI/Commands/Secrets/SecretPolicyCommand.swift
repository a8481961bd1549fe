import ArgumentParser
import SecretVault

struct SecretPolicyCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "policy",
    abstract: "Show or change what it takes to get this device's share of a secret.",
    discussion: """
      A peer always has to prove that it holds another share of the secret. Besides:

        auto            nothing; whoever holds a share recovers without asking you
        ask             you say yes first: 'vault requests approve'
        delay:DURATION  it waits so long after it asked first, and you can refuse
                        meanwhile: 'vault requests refuse'; such as delay:2d
        default         as the setting 'release-policy' says, which is auto if you
                        don't change it

      This is about your share alone: the other holders have policies of their own.

      Examples: vault secret policy "house keys"
                vault secret policy "house keys" delay:2d
      """)

  @Argument(help: "Id, beginning of an id, or description.", completion: .secrets)
  var secret: String

  @Argument(help: "auto, ask, delay:DURATION, or default.")
  var policy: String?

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func validate() throws {
    if let policy, policy != "default", ReleasePolicy(policy) == nil {
      throw ValidationError("A policy is auto, ask, delay: and a time from 1s to 365d such as delay:2d, or default.")
    }
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    guard let policy else {
      let current = try vault.consent.releasePolicy(of: secret)
      return try console.result([current.policy.text + (current.isDefault ? " (default)" : "")], json: current.json)
    }
    let changed = try vault.consent.setReleasePolicy(ReleasePolicy(policy), of: secret)
    console.note(Self.sentence(changed))
    if console.json { try console.result(changed.json) }
  }

  static func sentence(_ policy: SecretPolicy) -> String {
    let what =
      switch policy.policy {
      case .auto: "is released to every holder that proves its own"
      case .ask: "is released only when you say 'vault requests approve'"
      case .delay(let time): "is released \(DurationText.text(time)) after a holder asks, unless you refuse"
      }
    return "your share of \(policy.secret.name) \(what)" + (policy.isDefault ? ", by default" : "")
  }
}
