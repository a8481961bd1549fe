import SecretVault
import VaultStore
import XMPPLink

extension Vault {
  /// Keeps an account's contacts as the server has them. Those that wait to be accepted aren't among them.
  ///
  /// With `before`, what was known before the server was asked, it leaves whoever has changed since: that was told to another connection, which hears of
  /// every change, and may be newer than this answer.
  func keepRoster(
    _ account: [UInt8], _ contacts: [XMPPContact], unlessChangedSince before: [FriendRecord]? = nil
  ) throws(VaultError) {
    let named = Set(contacts.map(\.address.description))
    let known = try friendRecords(account)
    let former = before.map { Dictionary($0.map { ($0.address, $0) }) { first, _ in first } }
    for friend in known
    where !named.contains(friend.address) && !friend.asks && friend.subscription != .blocked {
      try changeFriend(account, friend.address) {
        if former == nil || $0 == former?[friend.address] { $0 = nil }
      }
    }
    let blocked = Set(known.filter { $0.subscription == .blocked }.map(\.address))
    for contact in contacts.prefix(FriendRecord.limit) {
      do throws(VaultError) {
        // Another program has added it again.
        let address = contact.address.description
        if blocked.contains(address) { try unblockContact(account, address) }
        try keepContact(account, contact) { friend in
          guard let former else { return true }
          let was = blocked.contains(address) ? nil : former[address]
          return friend.subscription == (was?.subscription ?? .none) && friend.name == was?.name
        }
      } catch  where error.code == .usage {
        // One that can't be kept keeps none of the others back.
        surroundings.log.warning("a contact can't be kept: \(error.reason)")
      }
    }
  }

  /// Keeps one contact as the server has it, unless `isExpected` says otherwise of what is known.
  func keepContact(
    _ account: [UInt8], _ contact: XMPPContact, where isExpected: (FriendRecord) -> Bool = { _ in true }
  ) throws(VaultError) {
    let address = contact.address.description
    guard contact.subscription != .remove else {
      return try changeFriend(account, address) { friend in
        guard friend?.subscription != .blocked else { return }
        guard friend?.asks == true else { return friend = nil }
        friend?.subscription = .none
        friend?.presence = nil
      }
    }
    try keepFriend(account, address) { friend in
      // What comes about while it is removed says nothing against that.
      guard friend.subscription != .blocked, isExpected(friend) else { return }
      friend.name = contact.name
      friend.subscription = FriendRecord.Subscription(contact.subscription)
      if contact.subscription == .from || contact.subscription == .both { friend.asks = false }
      if contact.subscription == .none || contact.subscription == .from { friend.presence = nil }
    }
  }
}

extension FriendRecord {
  /// Whether it is in the account's list, or belongs to a peer: more than somebody who asks, and not blocked.
  var isContact: Bool {
    guard subscription != .blocked else { return false }
    return !asks || subscription != .none || name != nil || peer != nil
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
