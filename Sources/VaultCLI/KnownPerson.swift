import SecretVault

/// A peer, or somebody whom a peer has introduced, as the user names them.
enum KnownPerson {
  case peer(PeerSummary)
  case introduced(IntroducedHolder)

  /// A peer before whoever was introduced, but nobody by the beginning of the name while that is all of somebody else's.
  init(_ reference: String, _ vault: Vault) throws {
    for mustBeWhole in [true, false] {
      let peer = try Self.found { try vault.trust.peer(reference, mustBeWhole: mustBeWhole) }
      if mustBeWhole, let peer {
        self = .peer(peer)
        return
      }
      let holder = try Self.found {
        try vault.introductions.introducedHolder(named: reference, mustBeWhole: mustBeWhole)
      }
      switch (peer, holder) {
      case (nil, nil): continue
      case (let peer?, nil): self = .peer(peer)
      case (nil, let holder?): self = .introduced(holder)
      case (let peer?, let holder?):
        throw VaultError(
          .ambiguous, "\(reference) could be \(peer.name), or \(holder.name)", hint: "name one by more of its name")
      }
      return
    }
    self = .peer(try vault.trust.peer(reference))
  }

  private static func found<Person>(_ find: () throws -> Person) throws -> Person? {
    do { return try find() } catch {
      guard VaultError(error).code == .notFound else { throw error }
      return nil
    }
  }
}
