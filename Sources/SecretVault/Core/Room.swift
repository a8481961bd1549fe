import PeerAuth
import VaultProtocol
import VaultStore

/// A part of a vault that does one thing. Its initialiser names everything that it may touch.
package protocol Room: Sendable {
  var core: VaultCore { get }
}

extension Room {
  var folders: VaultFolders { core.folders }
  var database: VaultDatabase { core.database }
  var identity: Identity { core.identity }
  var environment: VaultEnvironment { core.environment }

  func record(_ event: AuditEvent, peer: PeerRecord? = nil, secret: SecretHeader? = nil, detail: String? = nil) {
    core.record(event, peer: peer, secret: secret, detail: detail)
  }

  func recordUnlessTooMany(_ event: AuditEvent, peer: PeerRecord, secret: SecretHeader? = nil, detail: String? = nil) {
    core.recordUnlessTooMany(event, peer: peer, secret: secret, detail: detail)
  }
}
