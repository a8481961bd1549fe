import PeerAuth
import Sodium
import Testing

@testable import SecretVault

extension VaultTests {
  @Suite struct Peers {
    @Test func `a scanned card becomes a peer under its label`() throws {
      let world = try TestWorld(2, everybodyMeets: false)
      let addition = try world[0].meets(world[1])
      #expect(addition.change == .added && addition.peer.name == "ben" && addition.peer.state == .scanned)
      #expect(addition.peer.fingerprint == (try world[1].vault.core.ownIdentity().fingerprint))
      #expect(addition.peer.addresses == [world[1].address])
      #expect(try world[0].vault.trust.peers().map(\.name) == ["ben"])
    }

    @Test func `two friends with the same label get different names`() throws {
      let world = try TestWorld(4, everybodyMeets: false)
      let cards = try (0..<3).map { _ in try Identity.generate().card(label: "Bob", serial: 1) }
      #expect(try cards.map { try world[0].vault.trust.addPeer($0, name: nil).peer.name } == ["Bob", "Bob-2", "Bob-3"])
    }

    @Test func `a long label that is taken is cut for the number behind it`() throws {
      let world = try TestWorld(1, everybodyMeets: false)
      let label = String(repeating: "é", count: 32)
      let cards = try (0..<10).map { _ in try Identity.generate().card(label: label, serial: 1) }
      let names = try cards.map { try world[0].vault.trust.addPeer($0, name: nil).peer.name }
      let short = String(repeating: "é", count: 30)
      #expect(names.first == label && names[1] == short + "é-2" && names.last == short + "-10")
      #expect(names.allSatisfy { $0.utf8.count <= 64 })
      let character = "a" + String(repeating: "\u{301}", count: 31)
      let alike = try (0..<2).map { _ in try Identity.generate().card(label: character, serial: 1) }
      #expect(try alike.map { try world[0].vault.trust.addPeer($0, name: nil).peer.name } == [character, "peer-2"])
    }

    @Test func `a name that is taken is refused when it was asked for`() async throws {
      let world = try TestWorld(3, everybodyMeets: false)
      try world[0].meets(world[1])
      let failure = await refusal { try world[0].meets(world[2], as: "ben") }
      #expect(failure?.code == .usage && failure?.hint != nil)
      let renamed = await refusal {
        try world[0].meets(world[2])
        return try world[0].vault.trust.renamePeer("cleo", to: "ben")
      }
      #expect(renamed?.code == .usage)
    }

    @Test func `a card that couldn't be imported is told from one that can before anybody is asked`() async throws {
      let world = try TestWorld(2)
      let trust = world[0].vault.trust
      let stranger = try Identity.generate()
      for label in ["Zoe, introduced by Ann", "\u{200B}", ""] {
        let failure = await refusal { try trust.check(stranger.card(label: label, serial: 1)) }
        #expect(failure != nil, "\(label)")
      }
      try trust.check(stranger.card(label: "Zoe", serial: 1))
      // A peer's own newer card may come, and one that has a key of a peer's among others may not.
      try trust.check(world[1].vault.core.recognisableCard())
      let peer = world[1].vault.core.identity.keys
      let mixed = try CardKeys(signing: stranger.keys.signing, noise: peer.noise, box: stranger.keys.box)
      let failure = await refusal { try trust.check(PeerCard(keys: mixed, label: "Zoe", serial: 1)) }
      #expect(failure?.code == .refused)
      #expect(try trust.peers().count == 1)
    }

    @Test func `the own card is refused`() async throws {
      let world = try TestWorld(1)
      let failure = await refusal { try world[0].meets(world[0]) }
      #expect(failure?.code == .usage && failure?.reason == "this is your own card")
    }

    @Test(arguments: [
      ("bob", "bob"), ("Bøb", "Bøb"), ("Bob Ross", "'Bob Ross'"), ("it's", "'it'\\''s'"), ("-x", "-- '-x'"),
      ("$(ls)", "'$(ls)'"), ("", "''"),
      // With a mark above, a quote is another letter to a reader, and still a quote to the shell.
      ("a'\u{301}$(ls)", "'a'\\''\u{301}$(ls)'"), ("-\u{301}x", "-- '-\u{301}x'"),
      ("--help", "-- '--help'"),
    ])
    func `a name in a suggested command is quoted for the shell where it has to be, and no option`(
      name: String, quoted: String
    ) {
      #expect(shellQuoted(name) == quoted)
    }

    @Test func `a card that reuses a key of another peer or of this device is refused`() async throws {
      let world = try TestWorld(2)
      let fresh = try Identity.generate().keys
      let bens = world[1].vault.core.identity.keys
      let own = world[0].vault.core.identity.keys
      for (signing, noise, box) in [
        (bens.signing, fresh.noise, fresh.box), (fresh.signing, bens.noise, fresh.box),
        (fresh.signing, fresh.noise, bens.box), (own.signing, fresh.noise, fresh.box),
        (fresh.signing, own.box, fresh.box), (fresh.signing, bens.box, fresh.box),
      ] {
        let card = try PeerCard(keys: CardKeys(signing: signing, noise: noise, box: box), label: "eve", serial: 1)
        let failure = await refusal { try world[0].vault.trust.addPeer(card, name: nil) }
        #expect(failure?.code == .refused)
      }
      #expect(try world[0].vault.trust.peers().map(\.name) == ["ben"])
    }

    @Test func `a card with a wrong signature is refused`() async throws {
      let world = try TestWorld(1)
      let card = try Identity.generate().card(label: "eve", serial: 1)
      let forged = try PeerCard(keys: card.keys, label: "mallory", serial: 2, signature: card.signature)
      let failure = await refusal { try world[0].vault.trust.addPeer(forged, name: nil) }
      #expect(failure?.code == .damaged)
    }

    @Test func `adding the same card again changes nothing, a newer one updates, an older one does not`() throws {
      let world = try TestWorld(1)
      let identity = try Identity.generate()
      func card(_ serial: UInt64, _ host: String) throws -> PeerCard {
        try identity.card(label: "bob", addresses: [PeerAddress(host: host, port: 1)], serial: serial)
      }
      let vault = world[0].vault
      #expect(try vault.trust.addPeer(card(5, "five"), name: nil).change == .added)
      #expect(try vault.trust.addPeer(card(5, "five"), name: nil).change == .unchanged)
      let newer = try vault.trust.addPeer(card(6, "six"), name: nil)
      #expect(newer.change == .updated && newer.peer.addresses.map(\.host) == ["six"])
      let older = try vault.trust.addPeer(card(5, "five"), name: nil)
      #expect(older.peer.addresses.map(\.host) == ["six"])
      #expect(older.change == .unchanged)
      let renamed = try vault.trust.addPeer(card(6, "six"), name: "robert")
      #expect(renamed.change == .updated && renamed.peer.name == "robert")
      #expect(try vault.trust.peers().count == 1)
    }

    @Test func `an unsigned card with the highest serial doesn't stand in the way of what the peer signs itself`()
      async throws
    {
      let world = try TestWorld(2, everybodyMeets: false)
      try world[1].meets(world[0])
      let real = try world[1].vault.core.ownIdentity().card
      let decoy = try PeerAddress(host: "decoy", port: 1)
      let picture = try PeerCard(
        keys: real.keys, label: "ben", addresses: [decoy, world[1].address], serial: .max)
      #expect(try world[0].vault.trust.addPeer(picture, name: nil).peer.addresses.first == decoy)
      _ = try await world[0].vault.links.pingPeer("ben")
      #expect(try world[0].vault.trust.peer("ben").addresses == [world[1].address])
      // From then on only what is newer counts.
      let other = try PeerAddress(host: "elsewhere", port: 99)
      _ = try world[1].vault.core.setOwnAddresses([world[1].address, other])
      _ = try await world[0].vault.links.pingPeer("ben")
      #expect(try world[0].vault.trust.peer("ben").addresses == [world[1].address, other])
      world[0].vault.trust.met(real.keys, real)
      #expect(try world[0].vault.trust.peer("ben").addresses == [world[1].address, other])
    }

    @Test func `a peer is found by name, by the start of its digest, and by its fingerprint`() async throws {
      let world = try TestWorld(2)
      let vault = world[0].vault
      let ben = try vault.trust.peer("ben")
      #expect(try vault.trust.peer(ben.fingerprint) == ben)
      #expect(try vault.trust.peer(ben.cardDigest) == ben)
      let prefix = String(ben.cardDigest.prefix(16))
      #expect(try vault.trust.peer(prefix.uppercased()) == ben)
      for reference in ["", "nobody", String(prefix.prefix(3)), "ben's \(prefix)", "x\(prefix)"] {
        let failure = await refusal { try vault.trust.peer(reference) }
        #expect(failure?.code == .notFound, "\(reference)")
      }
    }

    @Test func `a peer is found by the beginning of its name, unless that is all of another one's`() async throws {
      let world = try TestWorld(3)
      let vault = world[0].vault
      #expect(try vault.trust.peer("BE").name == "ben")
      #expect(await refusal { try vault.trust.peer("be", mustBeWhole: true) }?.code == .notFound)
      _ = try vault.trust.renamePeer("cleo", to: "benno")
      #expect(try vault.trust.peer("Ben").name == "ben")
      #expect(await refusal { try vault.trust.peer("be") }?.code == .ambiguous)
      let slip = await refusal { try vault.trust.peer("bneno") }
      #expect(slip?.code == .notFound && slip?.hint == "did you mean 'benno'?", "\(String(describing: slip))")
    }

    @Test func `a peer whose keys were chosen to begin with a name's letters is not found by that name`() async throws {
      let world = try TestWorld(1)
      let vault = world[0].vault
      // Four letters in front come up once in fifty keys; whoever wants five tries longer.
      var identity = try Identity.generate()
      var letters = ""
      while letters.isEmpty || letters.contains(where: { $0.isNumber }) {
        identity = try Identity.generate()
        letters = String(identity.keys.digest.description.prefix(4))
      }
      let name = letters
      _ = try vault.trust.addPeer(identity.card(label: "eve", serial: 1), name: nil)
      let failure = await refusal { try vault.trust.peer(name) }
      #expect(failure?.code == .notFound)
    }

    @Test(arguments: ["", "a\nb", "\u{1b}[31m", String(repeating: "x", count: 65)])
    func `a name that would upset a terminal or a table is refused`(name: String) async throws {
      let world = try TestWorld(2)
      #expect(await refusal { try world[0].vault.trust.renamePeer("ben", to: name) }?.code == .usage)
    }
  }

  @Suite struct NamesAndSettings {
    @Test func `a secret is found by id, by a unique start of it, and by description`() async throws {
      let world = try TestWorld(2)
      let vault = world[0].vault
      let first = try await world.share([1], threshold: 2, description: "will")
      let second = try await world.share([2], threshold: 2)
      #expect(try vault.overview.secret(first.id.uppercased()).summary.id == first.id)
      #expect(try vault.overview.secret("will").summary.id == first.id)
      #expect(try vault.overview.secret(String(second.id.prefix(16))).summary.id == second.id)
      for reference in ["WILL", "wil", "w"] {
        #expect(try vault.overview.secret(reference).summary.id == first.id, "\(reference)")
      }
      for reference in ["", "nothing", "willy"] {
        #expect(await refusal { try vault.overview.secret(reference) }?.code == .notFound, "\(reference)")
      }
      #expect(await refusal { try await world.recover(by: 0) }?.code == .ambiguous)
    }

    @Test func `all of a description goes before the beginning of another one, and several that fit are shown`()
      async throws
    {
      let world = try TestWorld(2)
      let vault = world[0].vault
      let short = try await world.share([1], threshold: 2, description: "will")
      try await world.share([2], threshold: 2, description: "Will of Ada")
      #expect(try vault.overview.secret("Will").summary.id == short.id)
      let failure = try #require(await refusal { try vault.overview.secret("wi") })
      #expect(failure.code == .ambiguous)
      #expect(Set(failure.candidates.map(\.description)) == ["will", "Will of Ada"])
      let slip = try #require(await refusal { try vault.overview.secret("wll") })
      #expect(slip.code == .notFound && slip.hint?.hasPrefix("did you mean 'will'") == true, "\(slip)")
    }

    @Test func `two secrets of one description have to be told apart by id`() async throws {
      let world = try TestWorld(2)
      for _ in 0..<2 { try await world.share([1], threshold: 2, description: "will") }
      let failure = try #require(await refusal { try world[0].vault.overview.secret("will") })
      #expect(failure.code == .ambiguous && failure.hint != nil)
    }

    @Test func `a description that looks like another secret's id doesn't hide it`() async throws {
      let world = try TestWorld(2)
      let mine = try await world.share([1], threshold: 2)
      let start = String(mine.id.prefix(12))
      let theirs = try await world.share([2], from: 1, threshold: 2, name: "decoy", description: start)
      #expect(try world[0].vault.overview.secrets().count == 2)
      #expect(await refusal { try world[0].vault.overview.secret(start) }?.code == .ambiguous)
      #expect(try world[0].vault.overview.secret(mine.id).summary.id == mine.id)
      let whole = try await world.share([2], from: 1, threshold: 2, name: "decoy", description: mine.id)
      #expect(whole.id != mine.id && theirs.id != mine.id)
      #expect(try world[0].vault.overview.secret(mine.id).summary.id == mine.id)
    }

    @Test(arguments: [false, true])
    func `a list that was written by somebody else doesn't lead to another secret`(_ looksFirst: Bool) async throws {
      let world = try TestWorld(2)
      let ours = try await world.share([1], threshold: 2, description: "house keys")
      let other = try await world.share([2], threshold: 2, description: "cat pictures")
      try world[0].swapListed("house keys", "cat pictures")
      try world[0].restart()
      let vault = world[0].vault
      // It is made anew by what the secrets themselves say.
      if looksFirst { #expect(try Set(vault.overview.secrets().map(\.id)) == [ours.id, other.id]) }
      #expect(try vault.overview.secret("house keys").summary.id == ours.id)
      #expect(try vault.overview.secret("cat pictures").summary.id == other.id)
      for report in [ours, other] {
        #expect(try vault.overview.secret(report.id).summary.description == report.description)
        #expect(try vault.overview.secret(String(report.id.prefix(20))).summary.id == report.id)
      }
      _ = try vault.overview.delete("cat pictures")
      #expect(try vault.overview.secrets().map(\.id) == [ours.id])
    }

    @Test func `settings have defaults, keep what is set, and go back with an empty value`() throws {
      let world = try TestWorld(1)
      let vault = world[0].vault
      #expect(try vault.core.settings().allSatisfy { $0.value == $0.defaultValue && !$0.explanation.isEmpty })
      for (key, value) in [
        ("listen", "[::1]:0"), ("notify-command", "notify-send vault"), ("quota-bytes", "500M"), ("quota-shares", "0"),
      ] {
        #expect(try vault.core.set(key, to: value).value == value)
      }
      try world[0].restart()
      let kept = try world[0].vault.core.settings()
      #expect(kept.prefix(4).map(\.value) == ["[::1]:0", "notify-send vault", "500M", "0"])
      #expect(kept.dropFirst(4).allSatisfy { $0.value == $0.defaultValue })
      #expect(world[0].vault.core.quota?.bytes == 500 << 20 && world[0].vault.core.quota?.shares == 0)
      for setting in try vault.core.settings() { _ = try world[0].vault.core.set(setting.key, to: "") }
      #expect(try world[0].vault.core.settings().allSatisfy { $0.value == $0.defaultValue })
    }

    @Test(arguments: [
      ("listen", "nowhere"), ("listen", ":1"), ("listen", "a:65536"), ("listen", "a b:1"), ("quota-bytes", "much"),
      ("quota-bytes", "-1"), ("quota-bytes", "99999999999999999T"), ("quota-shares", "1000001"), ("quota-shares", "x"),
      ("colour", "red"),
    ])
    func `a setting that makes no sense is refused and changes nothing`(key: String, value: String) async throws {
      let world = try TestWorld(1)
      #expect(await refusal { try world[0].vault.core.set(key, to: value) }?.code == .usage)
      #expect(try world[0].vault.core.settings().allSatisfy { $0.value == $0.defaultValue })
    }
  }
}
