import SecretVault
import VaultStore
import XMPPRequests

extension Accounts {
  /// Keeps an account's contacts as the server has them. Those that wait to be accepted aren't among them.
  ///
  /// `before` is what was known before the server was asked: nobody is forgotten, or unblocked, by an answer that may
  /// be older than what is known. Where the connection that was answered doesn't stay, and so won't hear of later
  /// changes, whoever has changed since isn't touched, either: another connection sees to that.
  func keepRoster(_ account: [UInt8], _ contacts: [XMPPContact], since before: [FriendRecord], stays: Bool) throws {
    let named = Set(contacts.map(\.address.description))
    for former in before where !named.contains(former.address) {
      try changeFriend(account, former.address) { friend in
        guard let known = friend, known.isAs(former), !known.asks, known.subscription != .blocked else { return }
        friend = nil
      }
    }
    var known = Dictionary(before.map { ($0.address, $0) }) { first, _ in first }
    for contact in contacts.prefix(FriendRecord.limit) {
      do {
        let address = contact.address.description
        // Another program has added it again.
        if known[address]?.subscription == .blocked {
          try unblockContact(account, address)
          known[address] = nil
        }
        if stays { try keepContact(account, contact) } else { try keepContact(account, contact, ifAs: known[address]) }
      } catch  where VaultError(error).code == .usage {
        // One that can't be kept keeps none of the others back.
        core.surroundings.log.warning("a contact can't be kept: \(VaultError(error).reason)")
      }
    }
  }

  func keepContact(_ account: [UInt8], _ contact: XMPPContact) throws {
    let address = contact.address.description
    guard contact.subscription != .remove else {
      return try changeFriend(account, address) { friend in
        guard friend?.subscription != .blocked else { return }
        guard friend?.asks == true else { return friend = nil }
        friend?.subscription = .none
        friend?.presence = nil
      }
    }
    try keepFriend(account, address) { $0.take(contact) }
  }

  /// The same where it is still known as it was, or still unknown.
  private func keepContact(_ account: [UInt8], _ contact: XMPPContact, ifAs former: FriendRecord?) throws {
    let address = contact.address.description
    if let former {
      try changeFriend(account, address) { if $0?.isAs(former) == true { $0?.take(contact) } }
    } else {
      let unknown = FriendRecord(account: account, address: address)
      try keepFriend(account, address) { if $0.isAs(unknown) { $0.take(contact) } }
    }
  }
}

extension FriendRecord {
  /// Whether it is in the account's list, or belongs to a peer: more than somebody who asks, and not blocked.
  var isContact: Bool {
    guard subscription != .blocked else { return false }
    return !asks || subscription != .none || name != nil || peer != nil
  }

  /// Whether a server would say the same of both.
  fileprivate func isAs(_ other: FriendRecord) -> Bool { subscription == other.subscription && name == other.name }

  fileprivate mutating func take(_ contact: XMPPContact) {
    // What comes about while it is removed says nothing against that.
    guard subscription != .blocked else { return }
    name = contact.name
    subscription = FriendRecord.Subscription(contact.subscription)
    if contact.subscription == .from || contact.subscription == .both { asks = false }
    if contact.subscription == .none || contact.subscription == .from { presence = nil }
  }
}

extension FriendRecord.Subscription {
  init(_ subscription: XMPPContact.Subscription) {
    switch subscription {
    case .none, .remove: self = .none
    case .to: self = .to
    case .from: self = .from
    case .both: self = .both
    }
  }
}
