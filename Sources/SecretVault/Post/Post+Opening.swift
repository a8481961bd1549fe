import Synchronization
import VaultProtocol
import VaultStore

extension Post {
  private static let opening = Mutex(())

  enum FoundParcel {
    case letter(ParcelLetter, from: PeerRecord)
    case message(MessageLetter, from: PeerRecord)
    case worthless(String)
    case ofNobodyKnown
  }

  /// Its sender has to be a peer now.
  func open(_ parcel: Parcel) throws -> FoundParcel {
    var peer: PeerRecord?
    var ownFault: VaultError?
    do throws(ProtocolError) {
      // One at a time: a letter may be large, and keys need the locked memory more.
      let opened = try Self.opening.withLock { (_) throws(ProtocolError) in
        try ParcelLetter.openAny(parcel, with: identity) { (digest) throws(ProtocolError) in
          do {
            peer = try database.peer(digest)
            return try peer.map { known in try directory.storedCard(known).keys }
          } catch {
            ownFault = VaultError(error)
            return nil
          }
        }
      }
      guard let peer else { return .ofNobodyKnown }
      switch opened {
      case .letter(let letter): return .letter(letter, from: peer)
      case .message(let letter): return .message(letter, from: peer)
      }
    } catch {
      if let ownFault { throw ownFault }
      switch error {
      case .sodium: throw VaultError(.other, "a parcel can't be opened: \(error)")
      case .foreignParcel("sender"): return .ofNobodyKnown
      default: return .worthless("it does not verify")
      }
    }
  }

  static func parse<Message: PeerMessage>(_ frame: ParcelFrame) throws(LinkFailure) -> Message {
    do { return try Message.decode(frame.bytes, limit: Message.type.byteLimit) } catch {
      throw LinkFailure(ProtocolError.malformed(error))
    }
  }

  /// Throws unless the answers to an offer say that what was offered is durable.
  static func checkDurable<Answer, Outcome>(
    _ what: String, _ frames: [ParcelFrame], request: UInt64, peer: String, _: VerdictMessage<Answer>.Type,
    _: OutcomeMessage<Outcome>.Type
  ) throws(LinkFailure) {
    for frame in frames {
      switch frame.type {
      case Hello.type.rawValue: continue
      case VerdictMessage<Answer>.type.rawValue:
        let answer: VerdictMessage<Answer> = try parse(frame)
        guard answer.request == request else { throw .notAsked }
        switch answer.verdict {
        case .complete: return
        case .refused(let reason): throw .refused(reason)
        case .wants: continue
        case .asking: throw LinkFailure(.misbehaved, "did not say whether it takes \(what)")
        }
      case OutcomeMessage<Outcome>.type.rawValue:
        let result: OutcomeMessage<Outcome> = try parse(frame)
        guard result.request == request else { throw .notAsked }
        if let refusal = result.refusal { throw .refused(refusal) }
        return
      case MessageType.unsupported.rawValue: throw .tooOld(peer)
      default: throw LinkFailure(ProtocolError.unexpectedMessage(frame.type))
      }
    }
    throw LinkFailure(.misbehaved, "did not say whether it takes \(what)")
  }

  /// Ends a parcel. What may be in a group is withdrawn from there.
  func end(_ record: ParcelRecord) throws {
    if record.state == .answered || record.group.isEmpty { return try database.removeParcels([record.id]) }
    try change(record) { $0.state = .withdrawn }
  }

  /// Changes a parcel even if it has changed since it was read, unless it is gone or withdrawn.
  func change(
    _ read: ParcelRecord, content: ParcelContentChange = .keep, _ body: (inout ParcelRecord) -> Void
  ) throws {
    var before = read
    while true {
      var after = before
      body(&after)
      let isDone = try database.updateParcel(after, from: before, content: content)
      guard !isDone, let now = try database.parcel(read.id), now.state != .withdrawn, now != before else { return }
      before = now
    }
  }
}
