package import PeerAuth
package import ShamirKit
package import Sodium
package import VaultProtocol

/// What became of a request.
package typealias RouteOutcome = Result<PeerReply, LinkFailure>

/// A request to one peer.
package struct Envelope: Sendable {
  /// What is asked.
  package enum Content: Sendable {
    /// "Are you there?"
    case ping
    /// "Would you take a fragment of this size?"
    case probe(fragmentByteCount: UInt64)
    /// "Keep this share for me."
    case deposit(DepositJob)
    /// "These hold the other shares."
    case introduction(IntroductionJob)
    /// "Give me your share."
    case release(ReleaseJob)
    /// "Do you still hold your shares of these?"
    case drill(DrillJob)
    /// "Here is an item under a key that we share."
    case item(ItemJob)
    /// A letter about a group.
    case letter(LetterJob)
    /// "Here is what I have for you, and for others: what have you?"
    case meeting(MeetingJob)
  }

  /// Bytes of a part or an item that the request moves, in either direction. A drill moves as many as may be.
  var byteCount: UInt64 {
    switch content {
    case .ping, .drill: 0
    case .introduction(let job): UInt64(job.sealed.count)
    case .probe(let count): count
    case .deposit(let job): job.header.dispersal.fragmentByteCount
    case .release(let job): job.header.dispersal.fragmentByteCount
    case .item(let job): job.byteCount
    case .letter(let job): UInt64(job.content.count)
    case .meeting(let job): job.byteCount
    }
  }

  /// Whether it can be sent once more when nobody knows how far it came: all but a drill, each of whose answers is told as it comes.
  var isRepeatable: Bool { if case .drill = content { false } else { true } }

  /// Names the request on every route.
  package let id: UInt64
  /// Whom to reach, where, and as which peer.
  package let recipient: Recipient
  /// What is asked.
  package let content: Content

  /// A request.
  package init(id: UInt64, recipient: Recipient, content: Content) {
    self.id = id
    self.recipient = recipient
    self.content = content
  }
}

/// A peer as routes need it.
package struct Recipient: Hashable, Sendable {
  /// The local user's name for it.
  package let name: String
  package let keys: CardKeys
  /// Where it listens.
  package let addresses: [PeerAddress]
  /// How it is found in the same room; nil if Bluetooth is off here, or its card came without a beacon key.
  package var nearby: NearbyAccess?
  /// Whether it is a peer, and not only somebody whom a peer has introduced.
  package var isPeer = true
  /// Asked before each call at one of its addresses.
  var mayDial: @Sendable () -> Bool = { true }

  /// A recipient is who it is, wherever it is found.
  package static func == (one: Recipient, other: Recipient) -> Bool {
    one.name == other.name && one.keys == other.keys && one.addresses == other.addresses
  }

  /// See `==`.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(keys)
    hasher.combine(addresses)
  }
}

/// What it takes to find a peer over Bluetooth.
package struct NearbyAccess: Sendable {
  /// Recognises it.
  package let beacon: BeaconKey
  /// The adapters that the setting names.
  package let adapters: String
  /// Most bytes that go this way at once.
  package let byteLimit: UInt64
  /// Whether Bluetooth is still to be used like that.
  let isWanted: @Sendable () -> Bool
}

/// A share to be left with a peer. All of it is stored already; nothing here can open the share.
package struct DepositJob: Sendable {
  /// The signed header.
  package let header: SecretHeader
  /// The share's number.
  package let index: UInt8
  /// The share, sealed to the recipient.
  package let sealedShare: [UInt8]
  /// Reads a piece of the fragment.
  package let piece: @Sendable (UInt64) throws -> [UInt8]
  /// Told of bytes as they are sent.
  package let progress: @Sendable (Int) -> Void
  /// Told, again and again, that the peer's user is asked, for at most so many seconds more. What it throws ends the delivery.
  package var asking: @Sendable (UInt64) throws -> Void = { _ in }
  /// What is said about the other holders in the same session, once the share is there.
  package var introduction: IntroductionJob?
}

/// What a dealer says to a holder about the others. Nothing here can be opened by this device.
package struct IntroductionJob: Sendable {
  /// The secret's id.
  package let secret: [UInt8]
  /// The number of the recipient's share.
  package let index: UInt8
  /// The others' cards, sealed to the recipient.
  package let sealed: [UInt8]
  /// Told what became of it: nil once it is durable there. Not called if it wasn't said.
  package let settle: @Sendable (LinkFailure?) -> Void
}

/// A letter about a group.
package struct LetterJob: Sendable {
  package let purpose: GroupLetter.Purpose
  /// What it says.
  package let content: [UInt8]
}

/// A share to be asked for, and the own share that proves the right to it.
package struct ReleaseJob: Sendable {
  /// The requester's header.
  package let header: SecretHeader
  /// Epoch of the requester's share.
  package let epoch: UInt32
  /// The requester's own share and salt.
  package let own: HeldShare
  /// Commitment to the own share.
  package let evaluation: RistrettoPoint
  /// Which pieces will be wanted of whoever releases its share.
  let due: DuePieces
  /// What this device has of the others' cards, to ask for newer ones; and what is done with those.
  var cards: CardExchange?
}

/// Asking another holder for newer cards of those who hold the same secret.
package struct CardExchange: Sendable {
  /// What this device has, to be asked under this number.
  let request: @Sendable (UInt64) -> CardRequest?
  /// Takes what has come.
  let take: @Sendable ([HolderCard]) -> Void
}

/// A share that this device holds, opened. Reference semantics, because several sessions prove with it at once.
package final class HeldShare: Sendable {
  package let share: KeyShare
  /// The salt of its row.
  package let salt: SecretBytes

  init(share: consuming KeyShare, salt: consuming SecretBytes) {
    self.share = share
    self.salt = salt
  }
}

/// What a peer answered.
package enum PeerReply: Sendable {
  /// Its pong, and how long handshake and round trip took in milliseconds, and where it answered.
  case pong(handshake: Double, roundTrip: Double, address: String)
  /// It would take the fragment.
  case willing
  /// The share is durable there.
  case deposited
  /// The item is durable there, and waits to be accepted; or was known before.
  case itemTaken(isKnown: Bool)
  /// It keeps the others' cards.
  case introduced
  /// The letter was taken; with what it asked for.
  case letterTaken([UInt8])
  /// Its share, and a source of its fragment's pieces.
  case released(ReleasedShare)
  /// What came of a meeting.
  case met(MeetingReport)
  /// All of a drill's questions were answered; what came of each was told as it came.
  case drilled
}

/// A share that a peer gave, with its row checked but not yet verified against the commitments.
package final class ReleasedShare: Sendable {
  /// Who gave it.
  package let peer: AskedHolder
  package let share: KeyShare
  /// Where its fragment's pieces come from.
  package let pieces: any PieceSource

  init(peer: AskedHolder, share: consuming KeyShare, pieces: any PieceSource) {
    self.peer = peer
    self.share = share
    self.pieces = pieces
  }
}

/// Somewhere to read the pieces of one fragment, each verified against the fragment's root.
package protocol PieceSource: Sendable {
  /// Whose it is; nil for this device.
  var holder: AskedHolder? { get }
  /// The fragment's number.
  var index: UInt8 { get }
  /// Hands out pieces `first` to `first + count − 1`, in order, verified, with their leaf hashes: each as it comes, so that those
  /// before a failure aren't lost.
  func fetch(first: UInt64, count: Int, each: @Sendable (VerifiedPiece) -> Void) async throws(LinkFailure)
  /// Ends the source.
  func close() async
}

/// A piece that belongs to its fragment.
package struct VerifiedPiece: Sendable {
  package let bytes: [UInt8]
  /// Its leaf hash.
  package let leaf: Digest
}
