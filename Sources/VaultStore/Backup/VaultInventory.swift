import GRDB
package import ShamirKit

/// What a vault has, by ids: to be compared with what a backup of it has.
package struct VaultInventory: Sendable {
  package let peers: [PeerRecord]
  /// Descriptions of the secrets, by id.
  package let secrets: [SecretID: String?]
  package let items: Set<[UInt8]>
  /// Release policies of secrets that have one of their own.
  package let policies: [SecretID: String]
  /// The settings; none if they are lost or damaged, which is no reason not to put anything back.
  package let settings: [String: String]
  package let groups: Set<String>
}

extension VaultDatabase {
  package func inventory() throws(StoreError) -> VaultInventory {
    let listing = try listing()
    let secrets = Dictionary(
      listing.lines.map { ($0.id, listing.description(of: $0)) },
      uniquingKeysWith: { first, _ in first })
    var policies: [SecretID: String] = [:]
    for id in secrets.keys { policies[id] = try policy(ofSecret: id) }
    return VaultInventory(
      peers: try peers(), secrets: secrets, items: Set(try items().map(\.id)), policies: policies,
      settings: (try? SettingsFile(self).load()) ?? [:], groups: Set(try GroupFolders(folders).names()))
  }
}
