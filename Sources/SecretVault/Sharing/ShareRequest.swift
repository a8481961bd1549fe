/// Where the plaintext of a new secret comes from.
package enum ShareSource: Sendable {
  /// Any kind, in memory. Can be shared once.
  case memory(SecretContent)
  /// Recovered to be shared again, once.
  case recovered(RecoveredSpool)
  case file(path: String)
  /// An open descriptor of unknown length, such as standard input, under a name.
  case descriptor(Int32, name: String)
}

package struct ShareRequest: Sendable {
  package var source: ShareSource
  package var threshold: Int
  /// Peers by name; empty means every authenticated peer.
  package var recipients: [String]
  /// Public, in clear.
  package var description: String?
  /// Whether the names of the recipients go with the shares, in clear.
  package var includesLabels: Bool
  package var keepsOwnShare: Bool
  /// Whether the source file is removed once the secret is recoverable without it.
  package var removesSource: Bool
  /// For a second encryption. Sharing consumes it.
  package var password: SharePassword?

  /// Shown the plan before anything is encrypted; may still end it by an error.
  package var confirm: (@Sendable (SharePlan) async throws -> Void)?

  /// How this device releases its own share; nil goes by the setting.
  var policy: String?
  /// Whether a peer that refuses is left out, rather than ending it all: nobody has chosen it by name.
  var leavesOutRefusing: Bool

  package init(
    source: ShareSource, threshold: Int, recipients: [String] = [], description: String? = nil,
    includesLabels: Bool = true, keepsOwnShare: Bool = true, removesSource: Bool = false,
    password: SharePassword? = nil
  ) {
    self.source = source
    self.threshold = threshold
    self.recipients = recipients
    self.description = description
    self.includesLabels = includesLabels
    self.keepsOwnShare = keepsOwnShare
    self.removesSource = removesSource
    self.password = password
    leavesOutRefusing = recipients.isEmpty
  }
}

package struct SharePlan: Sendable {
  package let threshold: Int
  package let shareCount: Int
  /// In order of index.
  package let recipients: [PeerSummary]
  package let keepsOwnShare: Bool
}

package enum ShareEvent: Sendable {
  case contacting([String])
  /// A peer that nobody has chosen by name refuses, and gets no share.
  case leftOut(peer: String, reason: String, hint: String?)
  case plan(SharePlan)
  /// Bytes of plaintext encrypted and dispersed.
  case sealing(done: UInt64, total: UInt64?)
  /// From now on ending the program doesn't take it back: everything becomes durable here.
  case committing
  /// Everything is durable here.
  case sealed(id: String)
  /// Bytes of fragments sent to all peers.
  case sending(done: UInt64, total: UInt64)
  /// A peer's user is asked whether to keep the share, for at most so many seconds.
  case asking(peer: String, seconds: UInt64)
  /// A delivery ended, well or not.
  case delivery(Delivery)
}

package struct ShareReport: Sendable {
  package let id: String
  package let description: String?
  package let threshold: Int
  package let shareCount: Int
  package let keepsOwnShare: Bool
  package let deliveries: [Delivery]
  /// Peers that were left out before dealing.
  package let leftOut: [String]
  package internal(set) var sourceRemoved: Bool
  /// Why the source file could not be removed.
  package internal(set) var sourceRemovalFailure: String?
  /// Peers with a share and without a known address: nobody can call on them.
  package var listensNowhere: [String] = []
  /// Whether this device keeps a share without publishing an address, so that holders can't call on it.
  package var isOwnAddressUnknown = false
  /// Whether the holders know and can call one another, so that any of them can recover it.
  package var areHoldersIntroduced = false

  /// How many have said that they have their shares, once the secret has changed: what was delivered before says nothing
  /// of these.
  package var ready: Int?

  /// Including the own one.
  package var placed: Int { ready ?? deliveries.count { $0.state == .delivered } + (keepsOwnShare ? 1 : 0) }
  /// Whether all shares are delivered.
  package var isFinished: Bool {
    leftOut.isEmpty && (ready.map { $0 >= shareCount } ?? deliveries.allSatisfy { $0.state == .delivered })
  }
  /// Whether something can still be delivered.
  package var isOpen: Bool { deliveries.contains { $0.state != .delivered && $0.state != .cancelled } }
  /// For somebody who knows and can call the holders.
  package var hasEnoughPlaced: Bool { placed >= threshold }
  /// By this device, which knows all holders, or, where it keeps no share, by holders who know one another.
  package var isRecoverable: Bool { hasEnoughPlaced && (keepsOwnShare || areHoldersIntroduced) }
}
