public import Sodium

/// Limits of the interface between members and servers, version 1.
package enum ServerLimits {
  package static let shareByteLimit = 1 << 20
  /// Most recipients of a share.
  package static let recipientLimit = 256
  package static let pageLimit = 500
  /// Most bytes of the shares of a page, unless it is a single one.
  package static let pageByteLimit = 4 << 20
  /// Longest wait for a page, in seconds.
  package static let waitLimit = 60
  /// Seconds that shares may live.
  package static let acceptedTTLs = 60...2_592_000
}

/// A server's word that a share is durable there.
package struct PutReceipt: Hashable, Sendable {
  package let cursor: UInt64
  package let expires: UInt64

  package init(cursor: UInt64, expires: UInt64) {
    self.cursor = cursor
    self.expires = expires
  }
}

package struct ListedShare: Hashable, Sendable {
  package let id: ServerShareID
  package let cursor: UInt64
  /// Who has put it, says the server.
  package let sender: ServerUserID
  package let expires: UInt64
  package let bytes: [UInt8]

  package init(id: ServerShareID, cursor: UInt64, sender: ServerUserID, expires: UInt64, bytes: [UInt8]) {
    self.id = id
    self.cursor = cursor
    self.sender = sender
    self.expires = expires
    self.bytes = bytes
  }
}

/// What has come to a server for a member.
package struct SharePage: Hashable, Sendable {
  /// In order of cursor.
  package let shares: [ListedShare]
  /// Where the next page begins, also when this one is empty.
  package let next: UInt64
  package let hasMore: Bool

  package init(shares: [ListedShare], next: UInt64, hasMore: Bool) {
    self.shares = shares
    self.next = next
    self.hasMore = hasMore
  }
}

extension SharePage {
  /// Throws ``GroupServerError/malformed(reason:)`` unless the page can follow `cursor`.
  func check(after cursor: UInt64) throws(GroupServerError) {
    guard next >= cursor, next <= UInt64(Int64.max) else { throw .malformed(reason: "a cursor that goes back") }
    guard !hasMore || next > cursor else { throw .malformed(reason: "more, but no next page") }
    guard shares.count <= ServerLimits.pageLimit else { throw .malformed(reason: "a page of too many shares") }
    guard shares.allSatisfy({ $0.bytes.count <= ServerLimits.shareByteLimit }) else {
      throw .malformed(reason: "a share that is too large")
    }
  }
}

package struct ServerGroupInfo: Hashable, Sendable {
  /// Seconds that shares live.
  package let ttl: Int
  /// Number of users; only the owner is told.
  package let users: Int?
  package let shares: UInt64
  package let bytes: UInt64
  package let shareQuota: UInt64
  package let byteQuota: UInt64
  package let newest: UInt64
  package let time: UInt64

  package init(
    ttl: Int, users: Int?, shares: UInt64, bytes: UInt64, shareQuota: UInt64, byteQuota: UInt64, newest: UInt64,
    time: UInt64
  ) {
    self.ttl = ttl
    self.users = users
    self.shares = shares
    self.bytes = bytes
    self.shareQuota = shareQuota
    self.byteQuota = byteQuota
    self.newest = newest
    self.time = time
  }
}

package struct CreatedGroup: Sendable {
  package let group: ServerGroupID
  package let owner: ServerUserID
  /// Opens the group to its owner.
  package let masterKey: ServerKey
  /// Opens it to the caller as a member.
  package let accessKey: ServerKey
  /// Seconds that shares live.
  package let ttl: Int

  package init(group: ServerGroupID, owner: ServerUserID, masterKey: ServerKey, accessKey: ServerKey, ttl: Int) {
    self.group = group
    self.owner = owner
    self.masterKey = masterKey
    self.accessKey = accessKey
    self.ttl = ttl
  }
}

package struct AddedUser: Sendable {
  package let user: ServerUserID
  package let accessKey: ServerKey

  package init(user: ServerUserID, accessKey: ServerKey) {
    self.user = user
    self.accessKey = accessKey
  }
}

/// What a server's operator demands from whoever makes a group there, as bytes of a header's text.
public final class CreationToken: Sendable {
  package let secret: SecretBytes

  public init(_ secret: consuming SecretBytes) { self.secret = secret }
}

/// Finds the server behind an address of the roster. `GroupLink` makes HTTPS clients; tests hand out servers in memory.
package protocol GroupServerConnector: Sendable {
  /// The server at `address`, an `https` URL (or `http` for a server on this machine). Opens no connection yet.
  func server(at address: String) throws(GroupServerError) -> any GroupServer
}
