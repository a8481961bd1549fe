import GRDB
import Glibc
import Sodium
import Testing

@testable import VaultStore

@Suite struct PeersTests {
  @Test func `a peer is found by digest, keys and name, with everything it was stored with`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let alice = try samplePeer("Alice 🐙 \u{202E}")
    try database.addPeer(alice, beaconKey: nil)
    try database.addPeer(samplePeer("Bob"), beaconKey: nil)
    #expect(try database.peer(alice.digest) == alice)
    #expect(try database.peer(noiseKey: alice.noiseKey) == alice)
    #expect(try database.peer(named: alice.name) == alice)
    #expect(try database.peer(named: "Carol") == nil)
    #expect(try database.peers().map(\.name) == [alice.name, "Bob"].sorted())
  }

  @Test func `a key in any role or a name belongs to one peer only`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let alice = try samplePeer("Alice")
    try database.addPeer(alice, beaconKey: nil)
    let bob = try samplePeer("Bob")
    let thieves = [
      peer(bob, signing: alice.signingKey), peer(bob, noise: alice.noiseKey), peer(bob, box: alice.boxKey),
      peer(bob, noise: alice.boxKey), peer(bob, box: alice.noiseKey), peer(bob, name: "Alice"),
    ]
    for thief in thieves {
      let error = #expect(throws: StoreError.self) { try database.addPeer(thief, beaconKey: nil) }
      guard case .alreadyExists(let what) = error else { Issue.record("\(String(describing: error))"); continue }
      #expect(what.contains("Alice"))
    }
    #expect(try database.peers() == [alice])
  }

  @Test(arguments: [
    ("Ren\u{E9}", "Rene\u{301}"), ("alice", "ALICE"), ("alice", "al\u{200B}ice"), ("alice", "alice\u{FEFF}"),
    ("alice", " alice\u{A0}"), ("Alice Liddell", "alice \u{2003}\t liddell"), ("alice", "\u{FF21}lice"),
    ("Straße", "STRASSE"), ("ΟΔΟΣ", "οδος"), ("office", "o\u{FB03}ce"), ("alice", "ali\u{200D}ce\u{3164}"),
    ("alice", "a\u{AD}lice\u{2800}"), ("alice", "\u{202E}alice\u{202C}"), ("❤", "❤\u{FE0F}"),
  ])
  func `names that look the same are the same name`(_ name: String, _ other: String) throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let first = try samplePeer(name)
    try database.addPeer(first, beaconKey: nil)
    let second = try samplePeer("somebody else")
    #expect(throws: StoreError.alreadyExists("a peer named \(name)")) {
      try database.addPeer(peer(second, name: other), beaconKey: nil)
    }
    #expect(try database.peer(named: other) == first)
    try database.addPeer(second, beaconKey: nil)
    #expect(throws: StoreError.alreadyExists("a peer named \(name)")) {
      try database.updatePeer(second.digest) { $0.name = other }
    }
    // Its own name may be written otherwise.
    #expect(try database.updatePeer(first.digest) { $0.name = other }.name.utf8.elementsEqual(other.utf8))
    #expect(try database.peer(named: name)?.digest == first.digest)
  }

  @Test(arguments: [("alice", "alicea"), ("alice", "a lice"), ("李", "季"), ("1", "2"), ("a\u{301}", "a")])
  func `names that look different are different names`(_ name: String, _ other: String) throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try database.addPeer(samplePeer(name), beaconKey: nil)
    try database.addPeer(samplePeer(other), beaconKey: nil)
    #expect(try database.peer(named: other)?.name == other)
  }

  @Test(arguments: ["", " ", "\u{200B}", "\u{3164}\u{A0}", "\u{2800}", "\u{7}\n", "\u{E0061}", "\u{115F}\u{1160}"])
  func `a name of which nothing would be seen is refused`(_ name: String) throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    #expect(throws: StoreError.invalid("a blank name")) { try database.addPeer(samplePeer(name), beaconKey: nil) }
    let alice = try samplePeer("alice")
    try database.addPeer(alice, beaconKey: nil)
    #expect(throws: StoreError.invalid("a blank name")) { try database.updatePeer(alice.digest) { $0.name = name } }
    #expect(try database.peer(named: name) == nil)
  }

  @Test(arguments: ["Carol, introduced by Alice", "carol,  Introduced BY bob", "x, introduced\u{200B} by"])
  func `a peer is named like nobody who was introduced`(_ name: String) throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let refusal = StoreError.invalid("a name that says who has introduced it")
    #expect(throws: refusal) { try database.addPeer(samplePeer(name), beaconKey: nil) }
    let alice = try samplePeer("alice")
    try database.addPeer(alice, beaconKey: nil)
    #expect(throws: refusal) { try database.updatePeer(alice.digest) { $0.name = name } }
  }

  @Test func `the skeleton of a skeleton is the same`() {
    for value in UInt32(0)...0x1_FFFF {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let skeleton = PeerName.skeleton("a" + String(scalar) + "b")
      if !PeerName.skeleton(skeleton).utf8.elementsEqual(skeleton.utf8) {
        Issue.record("U+\(String(value, radix: 16))")
      }
    }
  }

  @Test func `a name that the database would cut short is refused`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    #expect(throws: StoreError.invalid("the name")) { try database.addPeer(samplePeer("Al\0ice"), beaconKey: nil) }
  }

  @Test func `a change is one transaction, and an error in it leaves no trace`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let alice = try samplePeer("Alice")
    try database.addPeer(alice, beaconKey: nil)
    try database.addPeer(samplePeer("Bob"), beaconKey: nil)
    let changed = try database.updatePeer(alice.digest) { peer throws(StoreError) in
      peer.state = .proven
      peer.name = "Alice Cooper"
      peer.card = [1, 2]
      peer.addresses = ["[2001:db8::1]:4721", "alice.example:4721"]
    }
    #expect(try database.peer(alice.digest) == changed)
    #expect(changed.state == .proven)
    #expect(throws: StoreError.alreadyExists("a peer named Bob")) {
      try database.updatePeer(alice.digest) { peer throws(StoreError) in
        peer.card = [3]
        peer.name = "Bob"
      }
    }
    #expect(throws: StoreError.invalid("mine")) {
      try database.updatePeer(alice.digest) { peer throws(StoreError) in
        peer.card = [3]
        throw .invalid("mine")
      }
    }
    #expect(try database.peer(alice.digest) == changed)
  }

  @Test func `the beacon key is sealed, and belongs to its peer`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let alice = try samplePeer("Alice")
    let bob = try samplePeer("Bob")
    let key = Array("beacon key here!".utf8)
    let sealed: SecretBytes? = try secret(key)
    try database.addPeer(alice, beaconKey: sealed)
    try database.addPeer(bob, beaconKey: nil)
    func stored(_ peer: PeerRecord) throws -> [UInt8]? {
      guard let key = try database.beaconKey(ofPeer: peer.digest) else { return nil }
      return publicCopy(key)
    }
    #expect(try stored(alice) == key)
    #expect(try stored(bob) == nil)
    try database.setBeaconKey(ofPeer: bob.digest, to: secret([UInt8](repeating: 5, count: 16)))
    #expect(try stored(bob) == [UInt8](repeating: 5, count: 16))
    #expect(home.files(containing: key) == [])
  }

  @Test func `the last session is noted and never moves back`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let alice = try samplePeer("Alice")
    try database.addPeer(alice, beaconKey: nil)
    for time in [500, 400] as [Int64] {
      database.notePeerSeen(alice.digest, at: time)
      try database.flushAudit()
    }
    #expect(try home.reopen().peer(alice.digest)?.lastSeenAt == 500)
  }

  @Test(arguments: [
    "state = 'proven'", "person = randomblob(32)", "name = 'Mallory', name_key = 'mallory'", "name_key = 'mallory'",
    "card = x'00'",
    "addresses = x'0000'", "noise_key = zeroblob(32)", "box_key = zeroblob(32)", "signing_key = zeroblob(32)",
    "digest = zeroblob(32)", "added_at = 0", "mac = zeroblob(32)", "beacon = x'01'", "state = 'trusted'",
  ])
  func `a row changed behind the program's back is refused by name`(_ change: String) throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let alice = try samplePeer("Alice")
    try database.addPeer(alice, beaconKey: nil)
    let outsider = try DatabaseQueue(path: home.folders.databasePath)
    try outsider.write { db in try db.execute(sql: "UPDATE peers SET \(change)") }
    let error = #expect(throws: StoreError.self) { try database.peers() }
    #expect(error == .damaged("peer Alice") || error == .damaged("peer Mallory"))
  }

  @Test func `nothing is dealt to somebody who was removed a moment ago`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let alice = try samplePeer("Alice")
    let bob = try samplePeer("Bob")
    try database.addPeer(alice, beaconKey: nil)
    try database.addPeer(bob, beaconKey: nil)
    let staged = try stageFragments(database, 1, count: 2)
    _ = try home.reopen().removePeer(bob.digest)
    let outbox = [alice, bob].enumerated().map { offset, peer in
      NewOutboxRecord(
        recipient: peer.digest, kind: "deposit", secretID: sampleID(1), index: offset + 1, payload: [1],
        hasFragment: true,
        nextAttemptAt: 0, createdAt: 0)
    }
    #expect(throws: StoreError.unknownRecipient(bob.digest)) {
      try database.deal(
        sampleSecret(1, origin: .dealt, ownIndex: nil), ownShare: nil, fragments: staged.records, outbox: outbox)
    }
    staged.staging.close()
    #expect(try database.secrets() == [])
    #expect(try database.waitingDeliveries() == [])
    #expect(try FileNames.list(home.folders.fragmentsPath) == [])
    #expect(StoreError.unknownRecipient(bob.digest).description.contains(bob.digest.description))
  }

  @Test func `removing a peer destroys what waits for it`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let alice = try samplePeer("Alice")
    try database.addPeer(alice, beaconKey: nil)
    let staged = try stageFragments(database, 1, count: 2)
    let payload = Array("sealed to alice".utf8)
    let entry = NewOutboxRecord(
      recipient: alice.digest, kind: "deposit", secretID: sampleID(1), index: 2, payload: payload, hasFragment: true,
      nextAttemptAt: 0, createdAt: 0)
    try database.deal(
      sampleSecret(1, origin: .dealt, ownIndex: nil), ownShare: nil, fragments: staged.records, outbox: [entry])
    staged.staging.close()
    let removed = try database.removePeer(alice.digest)
    #expect(removed.peer == alice)
    #expect(removed.cancelled.map(\.entry.payload) == [payload])
    #expect(try database.peers() == [])
    #expect(try database.waitingDeliveries().isEmpty)
    #expect(try database.deliveries(ofSecret: sampleID(1)).map(\.state) == [.cancelled])
    #expect(try !exists(database.fragments.path(sampleID(1), 2)))
    #expect(try exists(database.fragments.path(sampleID(1), 1)))
    #expect(home.files(containing: payload) == [])
    #expect(throws: StoreError.notFound("the peer")) { try database.removePeer(alice.digest) }
  }

  private func peer(
    _ peer: PeerRecord, signing: [UInt8]? = nil, noise: [UInt8]? = nil, box: [UInt8]? = nil, name: String? = nil
  ) -> PeerRecord {
    PeerRecord(
      digest: peer.digest, signingKey: signing ?? peer.signingKey, noiseKey: noise ?? peer.noiseKey,
      boxKey: box ?? peer.boxKey, name: name ?? peer.name, card: peer.card, state: peer.state, addedAt: peer.addedAt)
  }
}

@Suite struct IdentityTests {
  @Test func `an identity is stored once, sealed, and read back`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    #expect(try database.identity() == nil)
    var identity = IdentityRecord(card: [1, 2, 3], serial: 1, label: "Älice", addresses: ["a:1"], createdAt: 5)
    let secrets = Array("three secret seeds of ninety-six".utf8)
    try database.createIdentity(identity, secrets: secret(secrets), beaconKey: text("beacon0123456789"))
    #expect(throws: StoreError.alreadyExists("the identity")) {
      try database.createIdentity(identity, secrets: secret(secrets), beaconKey: text("other"))
    }
    #expect(try home.reopen().identity() == identity)
    identity.serial = 2
    identity.addresses = []
    try database.updateIdentity(identity)
    try database.replaceBeaconKey(text("another beacon k"))
    #expect(try database.identity() == identity)
    #expect(publicCopy(try database.identitySecrets()) == secrets)
    #expect(publicCopy(try database.beaconKey()) == Array("another beacon k".utf8))
    #expect(home.files(containing: secrets) == [])
    #expect(home.files(containing: Array("another beacon k".utf8)) == [])
  }

  @Test func `a changed identity row is refused`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try database.createIdentity(
      IdentityRecord(card: [1], serial: 1, label: "a", addresses: [], createdAt: 0), secrets: text("s"),
      beaconKey: text("b"))
    let outsider = try DatabaseQueue(path: home.folders.databasePath)
    try outsider.write { db in try db.execute(sql: "UPDATE identity SET serial = 99") }
    #expect(throws: StoreError.damaged("the identity")) { try database.identity() }
  }
}
