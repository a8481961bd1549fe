import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// What a check finds missing: joinings of others, and this device's own share.
extension Changing {
  /// What is to be heard from a peer, and said to it, about where both stand, in a session that is open for something else: so a change finds
  /// nobody absent. `wasHolder` says whether it is known to have held a share: one that proves none may know of changes that this device has missed.
  func joiningExchange(of id: SecretID, with peer: Digest, wasHolder: Bool) -> JoiningExchange? {
    guard let circle = try? circles.circle(of: id) else { return nil }
    return JoiningExchange(
      isDue: { index in index.map { circle.index(of: peer) != $0 } ?? wasHolder },
      asker: { [self] in try asker(id) })
  }

  /// Has this device's damaged or missing share made anew: the others deal theirs to the same holders once more, and their persons say yes. Where
  /// a joining and its key are left, its row is kept; else it takes its old index as somebody new would.
  func renewShare(of id: SecretID) async throws -> ChangeStatus {
    guard let record = try database.secret(id), record.ownIndex != nil else {
      throw VaultError(.notFound, "this device holds no share of \(directory.secretReference(id).name)")
    }
    if try !isRenewing(id) { try await offPool { [self] in try wishForShare(record) } }
    try await pursue(id, asksAll: true)
    guard let status = try status(of: id) else { throw VaultError(.other, "nothing has come of the change") }
    return status
  }

  /// Whether a change is under way here that brings a new share.
  private func isRenewing(_ id: SecretID) throws -> Bool {
    guard let circle = try circles.circle(of: id) else { return false }
    if try circles.wish(for: id) != nil { return true }
    let own = identity.keys.digest
    for (digest, proposal) in circle.open where proposal.expiresAt > environment.now() {
      guard proposal.rows.contains(where: { $0.joining.keys.digest == own }) else { continue }
      if try circles.decision(on: digest, of: id) == true { return true }
    }
    return circle.epochs.values.contains { epoch in
      !circle.isComplete(epoch) && epoch.holders?.values.contains(own) == true
    }
  }

  private func wishForShare(_ record: SecretRecord) throws {
    let (id, own) = (record.id, identity.keys.digest)
    let circle = try circles.circle(of: record)
    let parent = try parent(circle)
    let index = circle.holders(of: parent).first { $0.value == own }?.key
    let joining = index.flatMap { circle.joining(of: own, $0, in: parent) }
    let isKept = try joining.map { try circles.receivingKey(of: $0) != nil } ?? false
    try wish(id) { wish in
      guard !isKept else { return }
      wish.removed.insert(own)
      wish.added.insert(own)
      wish.places[own] = own
    }
  }
}

/// One exchange about where a peer and this device stand in a secret.
struct JoiningExchange: Sendable {
  /// Whether there is reason to ask a peer that has proved the share with this index, or none.
  let isDue: @Sendable (UInt8?) -> Bool
  let asker: @Sendable () throws -> LifecycleAsker

  /// What the peer refuses ends nothing.
  func run(_ request: UInt64, _ conversation: Conversation) async throws(LinkFailure) {
    guard try await conversation.greeting().offers(.lifecycle) else { return }
    let asker: LifecycleAsker
    do { asker = try self.asker() } catch { throw LinkFailure(local: error) }
    do { _ = try await asker.ask(request, conversation) } catch {
      guard error.kind == .refused else { throw error }
    }
  }
}
