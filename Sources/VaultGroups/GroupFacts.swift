package import Grouper
import Foundation
import SecretVault
import Sodium
import VaultStore

/// What is known of a group without opening it: as it was when somebody had it last.
package struct GroupFacts: Codable, Hashable, Sendable {
  package enum State: String, Codable, Sendable {
    /// It is being made. Nobody else knows of it yet.
    case creating
    /// This device has asked to be taken in, and waits for the answer.
    case joining
    case member
  }

  /// The name of its folder. Not kept in the file.
  package internal(set) var id = ""
  package internal(set) var state: State
  package internal(set) var name: String
  /// What its members know it by; nil while that isn't known.
  package internal(set) var group: GroupID?
  package internal(set) var isOwner = false
  /// His own name.
  package internal(set) var owner = ""
  /// This device included.
  package internal(set) var memberCount = 0
  package internal(set) var servers = 0
  /// k.
  package internal(set) var threshold = 0
  /// s.
  package internal(set) var sufficient = 0
  /// Changes that fewer servers have than are to have them.
  package internal(set) var unsent = 0
  /// What is still to be brought to servers, calls of the owner included.
  package internal(set) var waiting = 0
  /// Messages that are known to exist and haven't come.
  package internal(set) var missing: UInt64 = 0
  /// Whether ``missing`` says anything: nobody may have been asked yet, or have answered.
  package var isMissingKnown: Bool { isMissingOpen != true && !isOutdated }
  private var isMissingOpen: Bool?
  /// Until when the other members count as heard, in milliseconds since 1970.
  private var heardUntil: UInt64?
  /// Whether nobody was heard for so long, by the time when this was read, or nothing can come just now. Not kept in
  /// the file.
  private var isOutdated = false
  /// By which peer this device has joined: the digest of its card.
  var joinedBy: [UInt8]?
  var revision: UInt64 = 0

  private enum CodingKeys: String, CodingKey {
    case state, name, group, isOwner, owner, memberCount, servers, threshold, sufficient, unsent, waiting, missing
    case isMissingOpen, heardUntil, joinedBy, revision
  }

  init(id: String, state: State, name: String, group: GroupID? = nil) {
    self.id = id
    self.state = state
    self.name = name
    self.group = group
  }

  mutating func note(_ status: GroupStatus) {
    state = .member
    name = status.name
    group = status.group
    isOwner = status.isOwner
    owner = status.members.first?.card.name ?? ""
    memberCount = status.members.count(where: \.isActive)
    servers = status.servers.count(where: \.isCurrent)
    threshold = status.threshold
    sufficient = status.sufficient
    unsent = status.outbox.unsent
    waiting = status.outbox.parcels + status.unfinishedTasks
    missing = status.missing
    isMissingOpen = !status.isMissingKnown
    heardUntil = status.heardUntil
  }

  /// Takes over what has become of it since it was written.
  mutating func age(to now: Int64, hasRoom: Bool) {
    let isHeard = heardUntil.map { $0 > UInt64(max(0, now)) } ?? false
    isOutdated = state == .member && memberCount > 1 && !(isHeard && hasRoom)
  }
}

/// The facts' file, `facts` in a group's folder: JSON, sealed under the group's key.
struct FactsFile {
  private static let byteLimit = 65_536
  private static let context = Array("facts".utf8)

  let core: VaultCore

  private func path(_ id: String) -> String { core.groupFolders.path(id) + "/facts" }

  /// Nil if there is none yet.
  func read(_ id: String) throws -> GroupFacts? {
    let bytes: [UInt8]
    // The compiler crashes where what is thrown further isn't named.
    do { bytes = try AtomicFile.read(path(id), limit: Self.byteLimit) } catch StoreError.notFound {
      return nil
    } catch { throw error }
    let key = try core.groupKey(id)
    let opened: SecretBytes
    do { opened = try KeySealer(key).open(bytes, context: Self.context) } catch {
      if case .damaged = error { throw damage(id) }
      throw VaultError(error)
    }
    let json = opened.withUnsafeBytes { Data($0) }
    guard var facts = try? JSONDecoder().decode(GroupFacts.self, from: json) else { throw damage(id) }
    facts.id = id
    facts.age(to: core.surroundings.now(), hasRoom: core.hasDiskRoom())
    return facts
  }

  /// Writes them, with a new revision.
  @discardableResult
  func write(_ facts: GroupFacts) throws -> GroupFacts {
    var facts = facts
    facts.revision = .random(in: 1...(.max))
    guard let json = try? JSONEncoder().encode(facts) else {
      throw VaultError(.other, "what is known of the group can't be written")
    }
    let key = try core.groupKey(facts.id)
    let bytes = [UInt8](json)
    let sealed = try KeySealer(key).seal(bytes.span.bytes, context: Self.context)
    try AtomicFile.write(sealed.span.bytes, to: path(facts.id), replacing: true)
    return facts
  }

  private func damage(_ id: String) -> VaultError {
    VaultError(
      .damaged, "\(path(id)) is damaged",
      hint: "`vault group status \(id)` writes it anew; if the group's database is damaged too, restore a backup")
  }
}
