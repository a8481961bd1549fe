/// What a member is to do after something has happened.
package enum MulticastEffect: Hashable, Sendable {
  /// Keep this normal message; it is new.
  case keep(SignedMessage)
  /// Hand the application the kept messages of this stream with these numbers that it hasn't had, in order. Numbers that nothing is
  /// kept for mean nothing any more.
  case deliver(StreamID, ClosedRange<UInt64>)
  /// Send a confirm message with this vector to everybody.
  case confirm(VersionVector)
  /// Send a resend message to this member.
  case request(SequenceTable, from: NodeID)
  /// Send this member what it has asked for: the kept messages as they are, the others as one skip message.
  case answer(SequenceTable, to: NodeID)
  /// This member's database was put back from a copy: begin another counting. `proof`: a message of its own that it doesn't know, to be received
  /// then; without one somebody only says so.
  case countAnew(proof: SignedMessage?)
}

package struct MulticastSettings: Hashable, Sendable {
  /// How long servers keep messages, in milliseconds.
  package var ttl: UInt64
  /// How long a gap is left alone before it is asked for, in milliseconds: messages overtake each other.
  package var grace: UInt64
  /// How far ahead of the last one in order a message is kept, and how many messages one member is asked for at once.
  package var window: UInt64

  package init(ttl: UInt64, grace: UInt64, window: UInt64 = 1024) {
    self.ttl = ttl
    self.grace = grace
    self.window = window
  }
}
