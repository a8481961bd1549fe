/// Whom and what this device knows: peers and secrets, by the names that users give, and what is kept of them.
package final class Directory: Room {
  package let core: VaultCore
  let introducedDials = IntroducedDials()
  let headers = HeaderMemory()

  init(_ core: VaultCore) {
    self.core = core
  }
}
