import SecretVault
import VaultStore
import XMPPLink

extension Vault {
  /// Keeps an account's contacts as the server has them. Those that wait to be accepted aren't among them.
  func keepRoster(_ account: [UInt8], _ contacts: [XMPPContact]) throws(VaultError) {
    let named = Set(contacts.map(\.address.description))
    let known = try friendRecords(account)
    for friend in known
    where !named.contains(friend.address) && !friend.asks && friend.subscription != .blocked {
      try forgetFriend(account, friend.address)
    }
    let blocked = Set(known.filter { $0.subscription == .blocked }.map(\.address))
    for contact in contacts.prefix(FriendRecord.limit) {
      do throws(VaultError) {
        // Another program has added it again.
        let address = contact.address.description
        if blocked.contains(address) { try unblockContact(account, address) }
        try keepContact(account, contact)
      } catch  where error.code == .usage {
        // One that can't be kept keeps none of the others back.
        surroundings.log.warning("a contact can't be kept: \(error.reason)")
      }
    }
  }

  /// Keeps one contact as the server has it.
  func keepContact(_ account: [UInt8], _ contact: XMPPContact) throws(VaultError) {
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
      guard friend.subscription != .blocked else { return }
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
