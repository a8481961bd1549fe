extension XMPPConnection {
  /// Most messages that are asked for, one after the other.
  private static let putAsideLimit = 256

  /// Asks for what the server still keeps of what came while nobody was there (XEP-0013): parcels and receipts come as events. Servers hand it out when
  /// an account announces itself, and know of no better moment for what they put aside in the very same one.
  ///
  /// It stays where it is, and comes again with the next connection. Returns the server's names for what it was asked for, none of which is in `seen`.
  package func askForPutAside(except seen: Set<String> = []) async throws(XMPPError) -> [String] {
    guard try await features().contains(Namespace.putAside) else { return [] }
    let answer = try await ask("get", to: address.bare) { writer, _ in
      writer.element("query", Namespace.discoItems, [("node", Namespace.putAside)])
    }
    let items = answer.element?.child("query", Namespace.discoItems)?.children ?? []
    let names = items.compactMap { $0.name == "item" ? $0["node"] : nil }.filter { !seen.contains($0) }
      .prefix(Self.putAsideLimit)
    for name in names {
      do throws(XMPPError) {
        try XMLWriter.check(name, limit: IncomingStanza.idLimit)
        _ = try await ask("get", to: nil) { writer, _ in
          writer.begin("offline", Namespace.putAside)
          writer.element("item", nil, [("action", "view"), ("node", name)])
        }
      } catch .refused { continue } catch .invalidContent { continue }
    }
    return Array(names)
  }
}
