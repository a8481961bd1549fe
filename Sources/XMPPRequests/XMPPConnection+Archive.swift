package struct XMPPArchivePage: Hashable, Sendable {
  package static let limit = 100

  /// Oldest first. Receipts and parcels are left out.
  package let messages: [XMPPMessage]
  /// The archive's name for the last entry; nil if there was none.
  package let last: String?
  package let first: String?
  package let isComplete: Bool

  package init(messages: [XMPPMessage], last: String?, first: String?, isComplete: Bool) {
    self.messages = messages
    self.last = last
    self.first = first
    self.isComplete = isComplete
  }
}

/// Where a page of an archive begins or ends; entries are named as the archive names them.
package enum XMPPArchivePlace: Hashable, Sendable {
  case beginning
  case end
  case after(String)
  case before(String)
}

extension XMPPConnection {
  /// What the server, or somebody, says that it understands (XEP-0030).
  package func features(of address: JID? = nil) async throws(XMPPError) -> Set<String> {
    Set(try await words(.features(of: address)))
  }

  /// Whether the server keeps an archive of this account's messages.
  package func hasArchive() async throws(XMPPError) -> Bool {
    do {
      if try await features(of: address.bare).contains(Self.archive) { return true }
    } catch .refused {
      // Some servers don't answer for the account.
    }
    return try await features().contains(Self.archive)
  }

  /// Asks for a page of the archive (XEP-0313), with one contact or with all.
  package func archive(
    with contact: JID? = nil, from place: XMPPArchivePlace, limit: Int = 50
  ) async throws(XMPPError) -> XMPPArchivePage {
    let limit = min(max(limit, 1), XMPPArchivePage.limit)
    if case .after(let id) = place { try Self.check(id, limit: Self.nameLimit) }
    if case .before(let id) = place { try Self.check(id, limit: Self.nameLimit) }
    guard case .page(let page) = try await carrier.perform(.archive(with: contact, from: place, limit: limit)) else {
      throw .malformed("another answer")
    }
    return page
  }

  /// Most messages that are asked for, one after the other.
  private static let putAsideLimit = 256
  private static let archive = "urn:xmpp:mam:2"
  private static let putAside = "http://jabber.org/protocol/offline"

  /// Asks for what the server still keeps of what came while nobody was there (XEP-0013): parcels and receipts come as
  /// events. Servers hand it out when an account announces itself, but not what they put aside in that very moment.
  ///
  /// It stays where it is, and comes again with the next connection. Returns the server's names for what it was asked
  /// for, none of which is in `seen`.
  package func askForPutAside(except seen: Set<String> = []) async throws(XMPPError) -> [String] {
    guard try await features().contains(Self.putAside) else { return [] }
    let names = try await words(.putAside).filter { !seen.contains($0) }.prefix(Self.putAsideLimit)
    for name in names {
      do throws(XMPPError) {
        try Self.check(name, limit: Self.nameLimit)
        try await ask(.view(putAside: name))
      } catch .refused {} catch .invalidContent {}
    }
    return Array(names)
  }
}
