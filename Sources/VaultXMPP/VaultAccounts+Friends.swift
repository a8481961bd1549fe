import SecretVault
import VaultStore
import XMPPRequests

/// The contacts of the account in use.
extension VaultAccounts {
  /// Those whose address, name or peer's name contains `search`, whatever the case of its letters. Asks nobody.
  package func friends(search: String? = nil) throws -> [FriendSummary] {
    let account = try find(nil)
    let names = try accounts.namesOfPeers()
    let wanted = search?.lowercased()
    let connection = try accounts.accountConnection()
    let isConnected = connection?.account == account.id && connection?.state == .connected
    return try accounts.friendRecords(account.id).map { record in
      FriendSummary(
        address: record.address, name: record.name, peer: record.peer.flatMap { names[$0] },
        subscription: record.subscription.word, asks: record.asks, presence: isConnected ? record.presence : nil)
    }.filter { friend in
      guard let wanted else { return true }
      return [friend.address, friend.name, friend.peer].contains { $0?.lowercased().contains(wanted) == true }
    }
  }

  /// Adds a contact and asks it to show whether it is there; `peer` is whose account it is, so that what is sent there
  /// is sealed.
  package func addFriend(_ text: String, name: String?, peer: String?) async throws -> FriendSummary {
    let account = try find(nil)
    let contact = try address(text)
    guard contact.description != account.address else { throw VaultError(.usage, "this is the account itself") }
    let digest = try peer.map { peer in try accounts.peerDigest(peer) }
    let before = try accounts.friendRecords(account.id)
    let asks = before.contains { $0.address == contact.description && $0.asks }
    let contacts = try await connected(account) { (connection) throws(XMPPError) in
      // To set a contact replaces what other programs have put there.
      let known = try await connection.roster().first { $0.address == contact }
      if known == nil || name != nil && name != known?.name {
        try await connection.setContact(contact, name: name ?? known?.name)
      }
      // Whoever asks and is asked is accepted.
      if asks { try await connection.change(.approved, with: contact) }
      try await connection.change(.requested, with: contact)
      return try await connection.roster()
    }
    try accounts.keepRoster(account.id, contacts, since: before, stays: false)
    guard let entry = contacts.first(where: { $0.address == contact }) else {
      throw VaultError(.refused, "the server has not taken \(contact) as a contact")
    }
    if let peer, let digest {
      try accounts.changeFriend(account.id, contact.description) { $0?.peer = digest }
      try accounts.setAccountAddress(peer, to: contact.description)
    }
    if asks { try accounts.changeFriend(account.id, contact.description) { $0?.asks = false } }
    // What is known here may be a moment behind.
    let known = try friends().first { $0.address == contact.description }
    return FriendSummary(
      address: contact.description, name: entry.name, peer: known?.peer,
      subscription: FriendRecord.Subscription(entry.subscription).word, asks: false, presence: known?.presence)
  }

  /// Accepts somebody who asks, and asks back.
  package func acceptFriend(_ text: String, name: String?, peer: String?) async throws -> FriendSummary {
    let account = try find(nil)
    let contact = try address(text)
    guard try accounts.friendRecord(account.id, contact.description)?.asks == true else {
      throw VaultError(
        .notFound, "\(contact) doesn't ask to be accepted, as far as is known here",
        hint: "the daemon hears of it; `vault account friend list` shows who asks")
    }
    return try await addFriend(text, name: name, peer: peer)
  }

  /// Ends a contact in both directions, or refuses one that asks; nothing that it writes is kept from then on. Returns
  /// its address.
  @discardableResult
  package func removeFriend(_ text: String) async throws -> String {
    let account = try find(nil)
    let contact = try Self.listed(text)
    guard let known = try accounts.friendRecord(account.id, contact.description) else {
      throw VaultError(
        .notFound, "\(contact) is no friend of \(account.address)", hint: "see `vault account friend list`")
    }
    guard known.subscription != .blocked else {
      throw VaultError(
        .notFound, "\(contact) is blocked already", hint: "`vault account friend unblock` takes that back")
    }
    try await connected(account) { (connection) throws(XMPPError) in
      if known.asks { try await connection.change(.refused, with: contact) }
      do throws(XMPPError) { try await connection.removeContact(contact) } catch {
        // It was none at the server.
        guard case .refused = error else { throw error }
      }
      try await connection.ping()
    }
    try accounts.blockContact(account.id, contact.description)
    try accounts.forgetAccountAddress(contact.description)
    return contact.description
  }

  /// Lets somebody who was removed write and ask again. Asks nobody. Returns its address.
  @discardableResult
  package func unblockFriend(_ text: String) throws -> String {
    let account = try find(nil)
    let contact = try Self.listed(text)
    guard try accounts.unblockContact(account.id, contact.description) else {
      throw VaultError(.notFound, "\(contact) isn't blocked", hint: "see `vault account friend list`")
    }
    return contact.description
  }

  /// Whatever may stand in the list of contacts: a server has no name before the @.
  private static func listed(_ text: String) throws -> JID {
    do throws(XMPPError) { return try JID(text).bare } catch { throw VaultError(error, account: text) }
  }
}

extension FriendRecord.Subscription {
  /// XMPP's word for it.
  var word: String {
    switch self {
    case .none: "none"
    case .to: "to"
    case .from: "from"
    case .both: "both"
    case .blocked: "blocked"
    }
  }
}
