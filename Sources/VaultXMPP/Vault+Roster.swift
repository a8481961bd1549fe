import SecretVault
import VaultStore
import XMPPLink

extension Vault {
  /// Keeps an account's contacts as the server has them. Those that wait to be accepted aren't among them.
  func keepRoster(_ account: [UInt8], _ contacts: [XMPPContact]) throws(VaultError) {
    let named = Set(contacts.map(\.address.description))
    for friend in try friendRecords(account) where !named.contains(friend.address) && !friend.asks {
      try forgetFriend(account, friend.address)
    }
    for contact in contacts.prefix(FriendRecord.limit) {
      do throws(VaultError) { try keepContact(account, contact) } catch  where error.code == .usage {
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
        guard friend?.asks == true else { return friend = nil }
        friend?.subscription = .none
        friend?.presence = nil
      }
    }
    try keepFriend(account, address) { friend in
      friend.name = contact.name
      friend.subscription = FriendRecord.Subscription(contact.subscription)
      if contact.subscription == .from || contact.subscription == .both { friend.asks = false }
      if contact.subscription == .none || contact.subscription == .from { friend.presence = nil }
    }
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
