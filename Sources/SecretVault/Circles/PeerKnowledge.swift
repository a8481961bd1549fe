import ShamirKit
import Sodium
import Synchronization
import VaultProtocol

/// What peers are known to know of how secrets change hands, so that they aren't told twice. In memory alone: saying something twice does no harm.
final class PeerKnowledge: Sendable {
  struct Listener: Hashable, Sendable {
    let peer: Digest
    let secret: SecretID
  }

  private struct Knowledge {
    /// What it knows; nil if that isn't known.
    var known: Set<ObjectMark>?
    /// Milliseconds since 1970: when it was heard last.
    var heardAt: Int64 = 0
    var mayKnowMore = false
    /// What was named in the parcel that is on its way to it, and what was told in it.
    var written: (number: UInt64, named: Set<ObjectMark>, told: Set<ObjectMark>)?
  }

  private let knowledge = Mutex<[Listener: Knowledge]>([:])
  private static let countLimit = 4096

  /// The parcel with this number goes to it.
  func wrote(_ listener: Listener, _ number: UInt64, named: Set<ObjectMark>, told: Set<ObjectMark>) {
    change(listener) { $0.written = (number, named, told) }
  }

  /// It has answered that parcel: it lacked some of what was named, and has told some itself, but perhaps not all.
  func answered(
    _ listener: Listener, _ number: UInt64, lacked: Set<ObjectMark>, said: Set<ObjectMark>, saidAll: Bool, at now: Int64
  ) {
    change(listener) { knowledge in
      guard let written = knowledge.written, written.number == number else { return }
      // What it says it lacks though it was told isn't told again before the next day.
      let known = written.named.subtracting(lacked).union(written.told).union(said)
      knowledge.known = knowledge.known.map { $0.union(known) } ?? known
      knowledge.heardAt = now
      knowledge.mayKnowMore = !saidAll
    }
  }

  /// It and this device have told each other what the other lacked.
  func exchanged(_ listener: Listener, _ known: Set<ObjectMark>, at now: Int64) {
    change(listener) { knowledge in
      knowledge.known = known
      knowledge.heardAt = now
      knowledge.mayKnowMore = false
    }
  }

  /// What it is known to know; nil if nothing was heard of it for a while.
  func known(_ listener: Listener, at now: Int64, within pause: Int64) -> Set<ObjectMark>? {
    recent(listener, at: now, within: pause)?.known
  }

  /// Whether it knows all of these, and has told all that it knew.
  func isUpToDate(_ listener: Listener, _ marks: Set<ObjectMark>, at now: Int64, within pause: Int64) -> Bool {
    guard let entry = recent(listener, at: now, within: pause), let known = entry.known else { return false }
    return marks.isSubset(of: known) && !entry.mayKnowMore
  }

  private func recent(_ listener: Listener, at now: Int64, within pause: Int64) -> Knowledge? {
    knowledge.withLock { knowledge in
      guard let entry = knowledge[listener] else { return nil }
      if (0..<pause).contains(now.subtractingReportingOverflow(entry.heardAt).partialValue) { return entry }
      knowledge[listener]?.known = nil
      return nil
    }
  }

  private func change(_ listener: Listener, _ body: (inout Knowledge) -> Void) {
    knowledge.withLock { knowledge in
      if knowledge.count >= Self.countLimit, knowledge[listener] == nil { knowledge.removeAll() }
      body(&knowledge[listener, default: Knowledge()])
    }
  }
}
