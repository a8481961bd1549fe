package import Grouper
import NetLink
package import SecretVault
import VaultStore

extension GroupError: VaultErrorConvertible {
  package var vaultError: VaultError { VaultError(self) }
}

extension VaultError {
  /// A failure of a group in the words of a vault.
  init(_ error: GroupError) {
    switch error {
    case .tooFewServers:
      self.init(
        .unreachable, "\(error)",
        hint: NetHelper.shared.hint ?? "are the servers and the network there? see `vault group status`")
    case .server(let address, let reason):
      switch reason {
      case .unreachable:
        self.init(
          .unreachable, "the server \(address) gave \(reason)",
          hint: NetHelper.shared.hint ?? "try again when it is there")
      case .busy, .unavailable:
        self.init(.unreachable, "the server \(address): \(reason)", hint: "try again then")
      case .untrusted:
        self.init(
          .refused, "the server \(address): \(reason)",
          hint: "is the address right? If the server is your own, add its certificate to those that this machine trusts"
        )
      case .unauthorized:
        self.init(
          .refused, "the server \(address) refuses: it demands another token, or doesn't know the group any more",
          hint: "ask who runs it for a token, and name it: --token-file \(address)=FILE")
      case .quota: self.init(.refused, "the server \(address) has no room left for it: \(reason)")
      default: self.init(.refused, "the server \(address): \(reason)")
      }
    case .notOwner: self.init(.refused, "\(error)")
    case .damaged(let what): self.init(.damaged, "\(what) is damaged")
    case .forged, .malformed, .sharing: self.init(.damaged, "\(error)")
    case .store(let reason): self.init(.inputOutput, "the group's database: \(reason)")
    case .noRoom:
      self.init(
        .inputOutput, "\(error)",
        hint:
          "what is made here is sent all the same; free some of the disk, or let less of it stay free: see `keep-free` in `vault settings`"
      )
    case .file, .inUse: self.init(.inputOutput, "\(error)")
    case .unknownMember, .noGroup: self.init(.notFound, "\(error)")
    case .invalid, .alreadyInGroup: self.init(.usage, "\(error)")
    default: self.init(.other, "\(error)")
    }
  }
}
