import PeerAuth
import Sodium
import WireCodec

/// How messages lie in a stream: a 16-bit length, then the message as it is, or sealed once both sides have confirmed.
struct GatheringFrames: ~Copyable {
  private var inbound = FrameBuffer()
  private var sending: SessionCipher?
  private var receiving: SessionCipher?

  init() {}

  mutating func append(_ bytes: [UInt8]) { inbound.append(bytes) }

  /// From here on messages are sealed, each direction under its key, as in a session between peers.
  mutating func seal(_ keys: borrowing CPaceKeys, _ role: CPace.Role) throws(GatheringFailure) {
    let fromGuest = try gathering(keys.derived("vault/gathering-from-guest/v1"))
    let fromOpener = try gathering(keys.derived("vault/gathering-from-opener/v1"))
    let guest = SessionCipher(CipherState(key: fromGuest))
    let opener = SessionCipher(CipherState(key: fromOpener))
    switch role {
    case .initiator:
      sending = consume guest
      receiving = consume opener
    case .responder:
      sending = consume opener
      receiving = consume guest
    }
  }

  /// The bytes of a message in the stream.
  mutating func frame(_ message: GatheringMessage) throws(GatheringFailure) -> [UInt8] {
    let encoded: [UInt8]
    do throws(WireError) {
      encoded = sending == nil ? try message.encoded() : try message.padded()
    } catch { throw .malformed(error) }
    do throws(SessionError) {
      let sealed = try encoded.span.bytes.withUnsafeBytes { (plaintext) throws(SessionError) in
        try sending?.frames(of: plaintext)
      }
      if let sealed { return sealed }
    } catch { throw GatheringFailure(error) }
    return [UInt8(truncatingIfNeeded: encoded.count >> 8), UInt8(truncatingIfNeeded: encoded.count)] + encoded
  }

  /// The next message, if all of it is there.
  mutating func next() throws(GatheringFailure) -> GatheringMessage? {
    let isSealed = receiving != nil
    let overhead = CipherState.overhead
    let limits = isSealed ? 1 + overhead...GatheringMessage.sealedLimit + overhead : 1...GatheringMessage.clearLimit
    let frame: [UInt8]?
    do throws(SessionError) {
      frame = try inbound.takeFrame(limits) { (frame) throws(SessionError) in Array(frame) }
    } catch { throw isSealed ? .damaged : GatheringFailure(error) }
    guard let frame else { return nil }
    let message = isSealed ? try opened(frame) : frame
    do throws(WireError) {
      return isSealed
        ? try GatheringMessage.unpadded(message)
        : try GatheringMessage.decode(message, limit: GatheringMessage.clearLimit)
    } catch { throw .malformed(error) }
  }

  private mutating func opened(_ frame: [UInt8]) throws(GatheringFailure) -> [UInt8] {
    do throws(SessionError) {
      return try filledBytes(frame.count - CipherState.overhead) { (output) throws(SessionError) in
        try frame.span.bytes.withUnsafeBytes { (frame) throws(SessionError) in
          _ = try receiving?.open(frame, into: output)
        }
      }
    } catch .sodium(let error) {
      throw .sodium(error)
    } catch { throw .damaged }
  }
}

extension CPaceKeys {
  /// A key of 32 bytes derived from ISK under a label.
  func derived(_ label: StaticString) throws(SodiumError) -> SecretBytes {
    try DomainHash(label, key: key.bytes).secret()
  }
}

/// The inputs of CPace in a gathering.
enum GatheringInputs {
  /// CI: protocol and version, the code's number, the opening.
  static func channel(number: UInt16, opening: [UInt8]) -> [UInt8] {
    Array("vault/gathering/v1".utf8) + [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
      + opening
  }

  /// ADa and ADb: the side's role, and what it has committed to.
  static func associated(_ role: CPace.Role, _ commitment: Digest) -> [UInt8] {
    Array((role == .initiator ? "guest" : "opener").utf8) + commitment.bytes
  }
}
