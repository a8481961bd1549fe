package import WireCodec

/// A letter about a group that both belong to, or that one is invited to. Its content is the groups' own and means nothing here.
///
/// Letters come to nothing unless both users want it: an invitation waits for its user, and who asks to join must have been invited.
package struct GroupLetter: PeerMessage {
  /// What a letter is for.
  package enum Purpose: UInt8, Hashable, Sendable, CaseIterable {
    /// "You are invited to a group of mine."
    case invitation = 1
    /// "Let me join that group", with what its owner needs to know. The answer has what the new member needs.
    case joining = 2
  }

  package static let type = MessageType.groupLetter
  /// Most bytes of a content.
  package static let contentLimit = 8192
  /// Comes back in the answer.
  package let request: UInt64
  package let purpose: Purpose
  package let content: [UInt8]

  package init(request: UInt64, purpose: Purpose, content: [UInt8]) {
    self.request = request
    self.purpose = purpose
    self.content = content
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try writer.u8(purpose.rawValue)
    try writer.bytes32(content)
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    purpose = try choice(from: &reader, "purpose")
    content = try reader.bytes32(limit: Self.contentLimit, "letter")
  }
}

/// "It is durable here", with what the asker needs, or "no, because".
package struct GroupReply: PeerMessage {
  /// What became of a letter.
  package enum Outcome: Hashable, Sendable {
    /// It was taken; with what the asker needs, sealed to it, if its letter asks for anything.
    case taken([UInt8])
    /// It was not.
    case refused(RefusalReason)
  }

  package static let type = MessageType.groupReply
  /// Most bytes of a content.
  package static let contentLimit = 1 << 19
  /// The letter's number.
  package let request: UInt64
  package let outcome: Outcome

  package init(request: UInt64, outcome: Outcome) {
    self.request = request
    self.outcome = outcome
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    switch outcome {
    case .taken(let content):
      try write(nil, into: &writer)
      try writer.bytes32(content)
    case .refused(let reason): try write(reason, into: &writer)
    }
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    if let reason = try reason(from: &reader) {
      outcome = .refused(reason)
    } else {
      outcome = .taken(try reader.bytes32(limit: Self.contentLimit, "reply"))
    }
  }
}
