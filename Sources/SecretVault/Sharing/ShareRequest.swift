/// Where the plaintext of a new secret comes from.
package enum ShareSource: Sendable {
  /// Something of any kind that lies in memory only. What shares it takes it: it can be shared once.
  case memory(SecretContent)
  /// Something that was recovered to be shared again; once.
  case recovered(RecoveredSpool)
  case file(path: String)
  /// An open descriptor of unknown length, such as standard input, under a name.
  case descriptor(Int32, name: String)
}

package struct ShareRequest: Sendable {
  /// Where the plaintext comes from.
  package var source: ShareSource
  /// Shares needed to recover.
  package var threshold: Int
  /// Peers by name; empty means every authenticated peer.
  package var recipients: [String]
  /// Public description, in clear.
  package var description: String?
  /// Whether the names of the recipients travel with the shares, in clear.
  package var includesLabels: Bool
  /// Whether this device keeps a share.
  package var keepsOwnShare: Bool
  /// Whether the source file is removed once the secret is recoverable without it.
  package var removesSource: Bool
  /// The second encryption under a password, if there is one. What shares it takes the password.
  package var password: SharePassword?

  /// Shows who will get a share to somebody who may still say no, by an error: before anything is encrypted.
  package var confirm: (@Sendable (SharePlan) async throws -> Void)?

  /// How this device releases its share of it, from the beginning on; nil goes by the setting.
  var policy: String?
  /// Whether a peer that refuses gets no share, rather than ending it all: nobody has chosen it by name.
  var leavesOutRefusing: Bool

  /// A request with the usual choices.
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

/// Who will get what, before anything is sent.
package struct SharePlan: Sendable {
  /// Shares needed.
  package let threshold: Int
  /// Shares dealt.
  package let shareCount: Int
  /// The peers that get a share, in order of index.
  package let recipients: [PeerSummary]
  /// Whether this device keeps a share.
  package let keepsOwnShare: Bool
}

/// What happens while sharing or retrying.
package enum ShareEvent: Sendable {
  /// Peers are being contacted.
  case contacting([String])
  /// A peer that nobody has chosen by name refuses and gets no share of this secret, and why; with a hint.
  case leftOut(peer: String, reason: String, hint: String?)
  /// The final plan.
  case plan(SharePlan)
  /// Bytes of plaintext encrypted and dispersed.
  case sealing(done: UInt64, total: UInt64?)
  /// In the next moment everything is durable here, and can't be taken back by ending the program.
  case committing
  /// Everything is durable here; the secret has its id.
  case sealed(id: String)
  /// Bytes of fragments sent, over all peers.
  case sending(done: UInt64, total: UInt64)
  /// A peer's user is asked whether to keep the share, for at most so many seconds.
  case asking(peer: String, seconds: UInt64)
  /// A delivery ended, well or not.
  case delivery(Delivery)
}

/// How sharing ended.
package struct ShareReport: Sendable {
  /// The secret's id.
  package let id: String
  /// The public description.
  package let description: String?
  /// Shares needed.
  package let threshold: Int
  /// Shares dealt.
  package let shareCount: Int
  /// Whether this device keeps a share.
  package let keepsOwnShare: Bool
  /// One entry a peer.
  package let deliveries: [Delivery]
  /// Peers that were left out before dealing.
  package let leftOut: [String]
  /// Whether the source file was removed.
  package let sourceRemoved: Bool
  /// Why the source file is still there although it was to be removed.
  package internal(set) var sourceRemovalFailure: String?
  /// Peers with a share who listen nowhere that this device knows: nobody can call on them.
  package var listensNowhere: [String] = []
  /// Whether this device keeps a share and publishes no address, so that holders can't call on it.
  package var isOwnAddressUnknown = false
  /// Whether each holder is told of all others, and can call on them, so that any of them bring it back.
  package var areHoldersIntroduced = false

  /// Shares that are where they belong, the own one included.
  package var placed: Int { deliveries.count { $0.state == .delivered } + (keepsOwnShare ? 1 : 0) }
  /// Whether everybody who was to get a share has it.
  package var isFinished: Bool { leftOut.isEmpty && deliveries.allSatisfy { $0.state == .delivered } }
  /// Whether what hasn't arrived can still be delivered.
  package var isOpen: Bool { deliveries.contains { $0.state != .delivered && $0.state != .cancelled } }
  /// Whether enough shares are placed to recover, by somebody who knows and can call their holders.
  package var hasEnoughPlaced: Bool { placed >= threshold }
  /// Whether it can be recovered: by this device, which knows all holders, or, where it keeps no share, by holders who know one another.
  package var isRecoverable: Bool { hasEnoughPlaced && (keepsOwnShare || areHoldersIntroduced) }
}
