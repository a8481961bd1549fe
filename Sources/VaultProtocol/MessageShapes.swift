public import WireCodec

/// A message that consists of its request's number alone.
public protocol NumberMessage: PeerMessage {
  /// The number that ties it to a request.
  var request: UInt64 { get }
  /// A message for a request.
  init(request: UInt64)
}

extension NumberMessage {
  /// Exact number of encoded bytes.
  public var encodedByteCount: Int { 8 }
  /// Writes the canonical encoding.
  public func encode(into writer: inout Writer) throws(WireError) { try writer.u64(request) }
  /// Reads the message.
  public init(from reader: inout Reader) throws(WireError) { self.init(request: try reader.u64("request")) }
}

/// A message that says that something worked, or why it didn't.
public protocol OutcomeMessage: PeerMessage {
  /// The request's number.
  var request: UInt64 { get }
  /// Why not; nil if it worked.
  var refusal: RefusalReason? { get }
  /// An outcome of a request.
  init(request: UInt64, refusal: RefusalReason?)
}

extension OutcomeMessage {
  /// Exact number of encoded bytes.
  public var encodedByteCount: Int { 9 }
  /// Writes the canonical encoding.
  public func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try write(refusal, into: &writer)
  }
  /// Reads the message.
  public init(from reader: inout Reader) throws(WireError) {
    let request = try reader.u64("request")
    self.init(request: request, refusal: try reason(from: &reader))
  }
}
