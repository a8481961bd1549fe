import Grouper
import Logging
import SecretVault

extension VaultGroups {
  /// Writes what happens in a group into the log.
  func note(_ name: String) -> @Sendable (GrouperEvent) -> Void {
    let log = core.surroundings.log
    return { event in
      switch event {
      case .serverFailed(let address, let error): log.debug("group \(name): \(address): \(error)")
      case .damagedShare(let address, let reason):
        log.warning("group \(name): \(address) gave a damaged share: \(reason)")
      case .refusedMessage(let reason): log.warning("group \(name): a message was refused: \(reason)")
      case .pluginFailed(let className, _, let reason):
        log.warning("group \(name): a change of class \(className) waits: \(reason)")
      case .groupChanged(let serial, let epoch): log.info("group \(name) has changed: number \(serial), key \(epoch)")
      case .putBack:
        log.warning(
          "group \(name): its database was put back from a copy: this device counts anew, and asks the others for what came in between"
        )
      case .storeFailed(let reason): log.error("group \(name): \(reason)")
      }
    }
  }
}
