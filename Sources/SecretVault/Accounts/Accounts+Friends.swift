package import Sodium
package import VaultStore

/// The contacts of an account, as its server last said.
extension Accounts {
  package func friendRecords(_ account: [UInt8]) throws -> [FriendRecord] {
    try database.friends(account)
  }

  package func friendRecord(_ account: [UInt8], _ address: String) throws -> FriendRecord? {
    // A damaged one is as good as gone: the server has it too.
    do { return try database.friend(account, address) } catch StoreError.damaged { return nil }
  }

  /// Adds or changes a contact in one step, as others change it too. Beyond an account's limit nothing is added.
  package func keepFriend(_ account: [UInt8], _ address: String, change: (inout FriendRecord) -> Void) throws {
    _ = try database.updateFriend(account, address, change)
  }

  /// Changes a contact in one step, or removes it where `change` leaves nil. One removed meanwhile doesn't come back.
  package func changeFriend(_ account: [UInt8], _ address: String, change: (inout FriendRecord?) -> Void) throws {
    try database.changeFriend(account, address, change)
  }

  /// From now on what this address writes isn't kept, and it can't ask to be a friend.
  package func blockContact(_ account: [UInt8], _ address: String) throws {
    try keepFriend(account, address) { friend in
      friend = FriendRecord(account: account, address: address, subscription: .blocked)
    }
  }

  /// Returns whether it was blocked.
  @discardableResult
  package func unblockContact(_ account: [UInt8], _ address: String) throws -> Bool {
    var wasBlocked = false
    try changeFriend(account, address) { friend in
      guard friend?.subscription == .blocked else { return }
      (friend, wasBlocked) = (nil, true)
    }
    return wasBlocked
  }

  /// Forgets who is online.
  package func forgetPresence(_ account: [UInt8]) throws {
    for friend in try friendRecords(account) where friend.presence != nil {
      try changeFriend(account, friend.address) { $0?.presence = nil }
    }
  }

  package func peer(at address: String) throws -> PeerSummary? {
    let addresses = try database.peerAddresses()
    for peer in try database.peers() where addresses[peer.digest] == address {
      return try directory.summary(peer)
    }
    return nil
  }

  /// The digest of the peer that has this address; nil if none has, or more than one.
  package func peerDigest(at address: String) throws -> Digest? {
    let known = try database.peerAddresses().filter { $0.value == address }
    return known.count == 1 ? known.keys.first : nil
  }

  package func isAccountAddress(_ address: String) throws -> Bool {
    try database.peerAddresses().values.contains(address)
  }

  /// The digest of a peer by whatever it is called here.
  package func peerDigest(_ reference: String) throws -> Digest { try directory.find(reference).digest }

  package func namesOfPeers() throws -> [Digest: String] { try directory.peerNames() }

  package func accountAddress(of peer: Digest) throws -> String? {
    try database.peerAddress(peer)
  }
}
