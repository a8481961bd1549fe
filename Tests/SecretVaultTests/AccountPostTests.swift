import SecretVault
import Testing

extension VaultTests {
  /// What goes by an account, and in which order.
  @Suite struct AccountPosts {
    @Test func `what is small goes in handfuls, and what was never handed over before what goes again`() throws {
      let world = try TestWorld(2)
      let (ada, ben) = (world[0], world[1])
      try ada.vault.logIn("ada@example.org", friends: [ben: "ben@example.org"])
      for _ in 0..<3 { try ada.say(fileOf: 25_000, to: ben) }
      let handful = try ada.vault.post.smallAccountPosts().map(\.post)
      #expect(handful.count == 2)
      for post in handful { try ada.vault.post.handedToAccount(post.id) }
      world.clock.advance(milliseconds: 3_600_000)
      try ada.say("new", to: ben)
      let next = try ada.vault.post.smallAccountPosts().map(\.post.id)
      #expect(next.count > 2 && Set(next.prefix(2)).isDisjoint(with: handful.map(\.id)))
      #expect(Array(next.dropFirst(2)) == Array(handful.map(\.id).prefix(next.count - 2)))
    }

    @Test func `of what is large, too, what goes again comes last`() throws {
      let world = try TestWorld(2)
      let (ada, ben) = (world[0], world[1])
      try ada.vault.logIn("ada@example.org", friends: [ben: "ben@example.org"])
      try ada.say(fileOf: 100_000, to: ben)
      let first = try #require(try ada.vault.post.largeAccountPost([:])?.post)
      try ada.vault.post.handedToAccount(first.id)
      world.clock.advance(milliseconds: 3_600_000)
      #expect(try ada.vault.post.largeAccountPost([:])?.post.id == first.id)
      try ada.say(fileOf: 400_000, to: ben)
      let second = try #require(try ada.vault.post.largeAccountPost([:])?.post)
      #expect(second.id != first.id && second.bytes.count > first.bytes.count)
    }
  }
}
