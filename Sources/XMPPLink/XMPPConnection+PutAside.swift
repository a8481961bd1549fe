extension XMPPConnection {
  /// Most messages that are asked for at once. Each may have the size of a parcel's piece.
  private static let putAsideLimit = 16

  /// Asks for what the server still keeps of what came while nobody was there (XEP-0013): it comes as events. Servers hand it out when an account
  /// announces itself, and know of no better moment for what they put aside in the very same one.
  ///
  /// It stays where it is, and comes again with the next connection. Returns how many messages there are; 0 where the server doesn't understand this.
  @discardableResult
  public func askForPutAside() async throws(XMPPError) -> Int {
    guard try await features().contains(Namespace.putAside) else { return 0 }
    let answer = try await ask("get", to: address.bare) { writer, _ in
      writer.element("query", Namespace.discoItems, [("node", Namespace.putAside)])
    }
    let items = answer.element?.child("query", Namespace.discoItems)?.children ?? []
    let names = items.compactMap { $0.name == "item" ? $0["node"] : nil }
    for name in names.prefix(Self.putAsideLimit) {
      try XMLWriter.check(name, limit: IncomingStanza.idLimit)
      _ = try await ask("get", to: nil) { writer, _ in
        writer.begin("offline", Namespace.putAside)
        writer.element("item", nil, [("action", "view"), ("node", name)])
      }
    }
    return names.count
  }
}
