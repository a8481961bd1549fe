import Sodium
import VaultProtocol
import VaultStore

extension Post {
  /// Ends own messages that nobody has taken in time, and files of which parts are missing. Whole files that weren't checked, because the
  /// program ended just then, are checked now.
  func endMessages(expiredBy time: Int64) throws {
    let own = MessageFilter(direction: .sent, states: [.waiting, .underway], expiredAt: time)
    for message in try database.messages(own) where message.isSealed {
      try changeMessage({ () throws(StoreError) in try database.message(number: message.number) }) { message in
        if message.state == .waiting || message.state == .underway { message.state = .lost }
      }
      environment.log.info("message \(message.number) did not arrive in time")
    }
    let partial = MessageFilter(direction: .received, states: [.partial])
    for message in try database.messages(partial) {
      if message.partsDone == message.partCount {
        guard let digest = message.peer, let peer = try database.peer(digest) else { continue }
        try settle(message, from: peer)
      } else if message.expiresAt > 0, message.expiresAt <= time {
        _ = try database.removeMessage(message.number)
        environment.log.info("a file of which parts were missing is given up: message \(message.number)")
      }
    }
  }

  /// Shows a whole file, if it is what its sender said.
  func settle(_ message: MessageRecord, from peer: PeerRecord, _ address: String? = nil) throws {
    guard message.state == .partial, message.partsDone == message.partCount else { return }
    guard try digest(of: message) == message.digest else {
      _ = try database.removeMessage(message.number)
      return recordUnlessTooMany(.refused, peer: peer, detail: "sent a file whose parts don't make up what it said")
    }
    var after = message
    after.state = .new
    if try database.updateMessage(after, from: message) { noteArrival(of: after, from: peer, address) }
  }

  /// Of a file; nil if a part is missing.
  func digest(of message: MessageRecord) throws -> Digest? {
    var digest: FileDigest
    do { digest = try FileDigest() } catch { throw VaultError(.other, "hashing failed") }
    for number in 0..<message.partCount {
      guard let part = try database.messagePart(message.number, part: number) else { return nil }
      digest.add(part.bytes)
    }
    return digest.digest()
  }

  func noteArrival(of message: MessageRecord, from peer: PeerRecord, _ address: String?) {
    if let address { accounts.noteAddress(address, of: peer, at: message.sentAt) }
    let what: String =
      switch message.kind {
      case .text: "a message"
      case .file: "a file"
      case .photo: "a photo"
      }
    recordUnlessTooMany(.messageReceived, peer: peer, detail: "\(what) of \(peer.name)")
  }
}

extension FileDigest {
  mutating func add(_ part: borrowing SecretBytes) { take(part.bytes) }
}
