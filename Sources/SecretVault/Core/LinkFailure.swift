import PeerAuth
package import VaultProtocol

/// Why a peer could not do what it was asked, in the words that follow its name.
package struct LinkFailure: Error, Hashable, Sendable {
  /// Decides what happens next.
  package enum Kind: String, Hashable, Sendable {
    /// No answer at any address, or none known: it may be asked again later.
    case unreachable
    /// It doesn't know this device's key.
    case unknownHere
    /// It said no.
    case refused
    /// It sent something that can't be right.
    case misbehaved
    /// It stopped in the middle.
    case cutOff
    /// It answers, but so slowly that others are better asked.
    case slow
    /// This device failed, not the peer.
    case local
  }

  /// Whether the line broke or fell silent, which says nothing of who is at its other end.
  var isOfLine: Bool { kind == .cutOff || kind == .unreachable }

  package let kind: Kind
  /// What happened, to be read after the peer's name.
  package let reason: String
  package let hint: String?
  /// The peer's own reason, if it gave one.
  package let refusal: RefusalReason?
  /// Milliseconds after which the peer does what it was asked for, if it said so.
  package let wait: Int64?
  /// Whether the peer says that another device has this one's place.
  let saysReplaced: Bool

  init(
    _ kind: Kind, _ reason: String, hint: String? = nil, refusal: RefusalReason? = nil, wait: Int64? = nil,
    saysReplaced: Bool = false
  ) {
    self.kind = kind
    self.reason = reason
    self.hint = hint
    self.refusal = refusal
    self.wait = wait
    self.saysReplaced = saysReplaced
  }

  init(local error: any Error) {
    let error = VaultError(error)
    self.init(.local, error.reason, hint: error.hint)
  }

  static func refused(_ reason: RefusalReason) -> LinkFailure {
    let hint: String? =
      reason == .bluetoothLimit
      ? "use the network, or have its user allow more: `vault settings set ble-limit`" : nil
    return LinkFailure(.refused, "refused: \(reason.explanation)", hint: hint, refusal: reason)
  }

  /// A release that was refused. Some holders only want time, or their user's word.
  static func refused(_ refusal: Refusal) -> LinkFailure {
    switch refusal.reason {
    case .userAsked: LinkFailure(.refused, "asks its user; run it again later", refusal: refusal.reason)
    case .releaseDelayed:
      LinkFailure(
        .refused, "releases it in \(DurationText.words(Int64(clamping: refusal.wait))) unless vetoed",
        refusal: refusal.reason, wait: Int64(clamping: refusal.wait))
    default: .refused(refusal.reason)
    }
  }

  /// Whether the peer has a share for this device and waits for its user or for its time.
  var isWaiting: Bool { refusal == .userAsked || refusal == .releaseDelayed }

  /// Others would have been done long ago.
  static let tooSlow = LinkFailure(.slow, "is very slow")

  /// The session ended, in good order or not, before everything was said.
  static let hungUp = LinkFailure(.cutOff, "ended the connection in the middle")

  static let notAsked = LinkFailure(.misbehaved, "answered something that was not asked")

  static func tooLargeForBluetooth(_ byteCount: UInt64, limit: UInt64) -> LinkFailure {
    LinkFailure(
      .refused, "would have to take \(byteCount) bytes over Bluetooth, where the setting ble-limit allows \(limit)",
      hint: "use the network, or allow more: `vault settings set ble-limit \(byteCount)`")
  }

  /// The same of somebody who is asked by parcel as well.
  var askedByParcel: LinkFailure {
    LinkFailure(kind, reason + "; asked by parcel", hint: hint, refusal: refusal, wait: wait)
  }

  /// The same, with what came of Bluetooth to the same peer.
  func and(_ other: LinkFailure) -> LinkFailure {
    LinkFailure(
      kind, reason + "; over Bluetooth: " + other.reason, hint: hint ?? other.hint, refusal: refusal, wait: wait,
      saysReplaced: saysReplaced || other.saysReplaced)
  }

  static func tooOld(_ peer: String) -> LinkFailure {
    LinkFailure(.refused, "refused: its program is too old for this", hint: "ask \(peer) to update vault")
  }

  /// A failed session, told as a fact about the peer.
  init(_ error: SessionError, peer: String) {
    switch error {
    case .refusedUnknownKey:
      self.init(
        .unknownHere, "has not imported your key",
        hint: "show \(peer) the QR code of `vault id`, to be added there with `vault peer add`, and try again")
    case .refusedReplaced:
      self.init(
        .unknownHere, "says that this device was replaced by another one",
        hint: "if you have no other device, somebody has shown \(peer) a wrong card: call \(peer) at once",
        saysReplaced: true)
    case .transport(.unreachable(let why)): self.init(.unreachable, "unreachable: \(why)")
    case .transport(.timedOut), .timedOut: self.init(.unreachable, "did not answer in time")
    case .transport(.lost(let why)): self.init(.cutOff, "was cut off in the middle: \(why)")
    case .transport, .cutOff: self = .hungUp
    case .handshakeFailed, .wrongCard, .cardProofFailed, .unknownPeer:
      self.init(
        .misbehaved, "somebody else answers at its address, or its keys have changed",
        hint: "compare `vault peer show \(shellQuoted(peer))` with the fingerprint that \(peer) sees in `vault id`")
    case .malformed, .messageTooLarge: self.init(.misbehaved, "sent a message that makes no sense")
    default: self.init(.local, "the session failed on this device: \(error)")
    }
  }

  /// A broken rule of the protocol, told as a fact about the peer.
  init(_ error: ProtocolError) {
    switch error {
    case .malformed: self.init(.misbehaved, "sent a message that makes no sense")
    case .unexpectedMessage: self.init(.misbehaved, "sent a message out of turn")
    case .pieceMismatch(let number): self.init(.misbehaved, "sent a damaged piece (number \(number)) of the file")
    case .unexpectedPiece(let number): self.init(.misbehaved, "sent a piece (number \(number)) that was not asked for")
    case .fragmentMismatch: self.init(.misbehaved, "sent a fragment that is not the announced one")
    case .foreignShare, .rejected: self.init(.misbehaved, "sent a share that does not verify")
    case .sodium: self.init(.local, "the cryptographic library failed on this device")
    default: self.init(.misbehaved, "sent something that does not verify")
    }
  }
}

/// A name as it has to be typed at the end of a command that a hint suggests. Quotes don't keep `-x` from being an option: what precedes it does.
package func shellQuoted(_ name: String) -> String {
  let isPlain = name.utf8.allSatisfy { byte in
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"),
      UInt8(ascii: "@"), UInt8(ascii: "+"), 0x80...:
      true
    default: false
    }
  }
  let isOption = name.utf8.first == UInt8(ascii: "-")
  if isPlain && !isOption && !name.isEmpty { return name }
  // Scalars, not characters: a quote with a combining mark behind it is still one to the shell.
  let parts = name.unicodeScalars.split(separator: "'", omittingEmptySubsequences: false)
  return (isOption ? "-- " : "") + "'" + parts.map { String($0) }.joined(separator: "'\\''") + "'"
}
