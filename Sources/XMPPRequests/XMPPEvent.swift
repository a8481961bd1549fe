/// What comes by itself over a connection.
package enum XMPPEvent: Hashable, Sendable {
  /// A text for a person.
  case message(XMPPMessage)
  /// A text that another program of this account has sent or got, as the account's own server says (XEP-0280).
  case copy(XMPPMessage)
  case parcel(XMPPParcelPart)
  /// Somebody has got the message or parcel of this id (XEP-0184).
  case receipt(id: String, from: JID)
  /// What was sent under this id could not be delivered.
  case undelivered(id: String, to: JID?, XMPPCondition)
  /// Somebody comes, goes or is otherwise.
  case presence(XMPPPresence)
  /// Somebody asks for, allows or ends the subscription to a presence.
  case subscription(XMPPSubscriptionChange, from: JID)
  /// An entry of the roster is new, changed or gone.
  case contact(XMPPContact)
  /// A stanza that could not be used, and was passed over: what is wrong. For diagnostics.
  case ignored(String)
  /// So many events were dropped since nobody took them. Their messages were not acknowledged, so that they come again.
  case missed(Int)
  /// The connection has ended; nothing comes any more. Nil: it was closed from this side.
  case closed(XMPPError?)
}

package struct XMPPMessage: Hashable, Sendable {
  /// Longest text that is sent, in bytes.
  package static let bodyLimit = 65_536
  /// Longest text that is taken, in bytes: of what is longer the beginning is. Usual servers let nothing pass that is.
  package static let takenLimit = 512 << 10
  /// Longest subject that is taken, in bytes.
  package static let subjectLimit = 4096
  /// Most bytes of one as it is written in XML: servers end the connection for stanzas of more than 256 KiB.
  package static let writtenLimit = 192 << 10

  /// As the sender's program named it; not always there, and not always unique.
  package let id: String?
  package let from: JID
  /// The address it was sent to, where it says so: in an archive it may be this account's own message.
  package let to: JID?
  package let body: String
  /// When it was first kept by a server, as that server says (XEP-0203, XEP-0082 format); nil if it came at once.
  package let stamp: String?
  package let wantsReceipt: Bool
  /// What the account's own server calls it in its archive (XEP-0359): always the same; nil if it doesn't say.
  package var archiveID: String?
  /// What stands above the text; nil if nothing does. The text may be empty, then.
  package var subject: String?
  /// Bytes that were left out because text or subject were too long.
  package var missing = 0

  package init(
    id: String?, from: JID, to: JID?, body: String, stamp: String?, wantsReceipt: Bool, archiveID: String? = nil,
    subject: String? = nil, missing: Int = 0
  ) {
    self.id = id
    self.from = from
    self.to = to
    self.body = body
    self.stamp = stamp
    self.wantsReceipt = wantsReceipt
    self.archiveID = archiveID
    self.subject = subject
    self.missing = missing
  }
}

package struct XMPPPresence: Hashable, Sendable {
  /// Words of RFC 6121, and the absence.
  package enum State: String, Hashable, CaseIterable, Sendable {
    case available, chat, away
    case extendedAway = "xa"
    case doNotDisturb = "dnd"
    case unavailable
  }

  /// In bytes; longer words are cut off.
  package static let statusLimit = 1024

  package let from: JID
  package let state: State
  /// Somebody's own words.
  package let status: String?

  package init(from: JID, state: State, status: String?) {
    self.from = from
    self.state = state
    self.status = status
  }
}

package enum XMPPSubscriptionChange: String, Hashable, CaseIterable, Sendable {
  case requested = "subscribe"
  case approved = "subscribed"
  case ended = "unsubscribe"
  case refused = "unsubscribed"
}

/// An entry of the roster.
package struct XMPPContact: Hashable, Sendable {
  /// Who sees whose presence.
  package enum Subscription: String, Hashable, CaseIterable, Sendable {
    case none, to, from, both
    /// The entry is gone.
    case remove
  }

  /// In bytes; longer names are cut off.
  package static let nameLimit = 1023

  package let address: JID
  /// This account's name for them.
  package let name: String?
  package let subscription: Subscription
  /// This account asks, and hasn't been answered.
  package let isAsking: Bool

  package init(address: JID, name: String?, subscription: Subscription, isAsking: Bool) {
    self.address = address
    self.name = name
    self.subscription = subscription
    self.isAsking = isAsking
  }
}

extension XMPPEvent {
  /// Bytes that it keeps while it waits to be taken, roughly.
  var size: Int {
    switch self {
    case .message(let message), .copy(let message):
      message.body.utf8.count + (message.subject?.utf8.count ?? 0) + 512
    case .parcel(let part): part.bytes.count + 512
    case .presence(let presence): (presence.status?.utf8.count ?? 0) + 512
    default: 1024
    }
  }
}
