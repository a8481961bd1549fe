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
    /// What was named in the parcel that is on its way to it, and what was told in it.
    var named: Set<ObjectMark> = []
    var told: Set<ObjectMark> = []
  }

  private let knowledge = Mutex<[Listener: Knowledge]>([:])
  private static let countLimit = 4096

  /// A parcel goes to it.
  func wrote(_ listener: Listener, named: Set<ObjectMark>, told: Set<ObjectMark>) {
    change(listener) { knowledge in
      knowledge.named = named
      knowledge.told = told
    }
  }

  /// It has answered the parcel: it lacked some of what was named, and has told some itself.
  func answered(_ listener: Listener, lacked: Set<ObjectMark>, said: Set<ObjectMark>, at now: Int64) {
    change(listener) { knowledge in
      knowledge.known = knowledge.named.subtracting(lacked).union(knowledge.told).union(said)
      knowledge.heardAt = now
    }
  }

  /// It and this device have told each other what the other lacked.
  func exchanged(_ listener: Listener, _ known: Set<ObjectMark>, at now: Int64) {
    change(listener) { knowledge in
      knowledge.known = known
      knowledge.heardAt = now
    }
  }

  /// What of these it isn't known to know.
  func missing(_ listener: Listener, of marks: Set<ObjectMark>) -> Set<ObjectMark> {
    marks.subtracting(knowledge.withLock { $0[listener]?.known } ?? [])
  }

  /// Whether it knows all of these, and was heard less than a while ago.
  func isUpToDate(_ listener: Listener, _ marks: Set<ObjectMark>, at now: Int64, within pause: Int64) -> Bool {
    guard let entry = knowledge.withLock({ $0[listener] }), let known = entry.known else { return false }
    return marks.isSubset(of: known)
      && (0..<pause).contains(now.subtractingReportingOverflow(entry.heardAt).partialValue)
  }

  private func change(_ listener: Listener, _ body: (inout Knowledge) -> Void) {
    knowledge.withLock { knowledge in
      if knowledge.count >= Self.countLimit, knowledge[listener] == nil { knowledge.removeAll() }
      body(&knowledge[listener, default: Knowledge()])
    }
  }
}
