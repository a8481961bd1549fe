import GRDB
import Sodium
import Testing
import VaultProtocol

@testable import VaultStore

@Suite struct AccountTests {
  let home: TestHome
  let database: VaultDatabase

  init() throws {
    home = try TestHome()
    database = try home.makeDatabase()
    try database.addPeer(samplePeer("cleo"), beaconKey: nil)
  }

  private func password(_ number: UInt8, in other: VaultDatabase? = nil) throws -> String? {
    guard let found = try (other ?? database).accountPassword(sampleID(number)) else { return nil }
    return String(decoding: publicCopy(found.bytes), as: UTF8.self)
  }

  @Test func `accounts are read as they were stored, by another process too`() throws {
    let full = AccountRecord(
      id: sampleID(1), address: "zoe@example.org", host: "xmpp.example.org", port: 5223, certificates: "/etc/ca.pem",
      resource: "vault-1", isCurrent: true, archivedTo: "28482-98726-73623")
    let bare = sampleAccount(2)
    try database.setAccount(full)
    try database.setAccount(bare)
    let other = try home.reopen()
    #expect(try other.accounts() == [bare, full])
    #expect(try other.currentAccount() == full)
  }

  @Test func `one account is in use, whichever was chosen last`() throws {
    for number in 1...3 as ClosedRange<UInt8> { try database.setAccount(sampleAccount(number, isCurrent: true)) }
    #expect(try database.accounts().map(\.isCurrent) == [false, false, true])
    try database.setAccount(sampleAccount(1, isCurrent: true))
    #expect(try database.currentAccount()?.id == sampleID(1))
    try database.setAccount(sampleAccount(1))
    #expect(try database.currentAccount() == nil)
  }

  @Test func `an address is taken once, and an account keeps its own`() throws {
    try database.setAccount(sampleAccount(1))
    let same = AccountRecord(id: sampleID(2), address: "user1@example.org", resource: "r", isCurrent: false)
    #expect(throws: StoreError.alreadyExists("the account user1@example.org")) { try database.setAccount(same) }
    let moved = AccountRecord(id: sampleID(1), address: "other@example.org", resource: "r", isCurrent: false)
    #expect(throws: StoreError.self) { try database.setAccount(moved) }
    #expect(try database.accounts() == [sampleAccount(1)])
  }

  @Test func `what can't be an account or a friend isn't stored`() throws {
    func account(_ address: String = "a@b", id: [UInt8] = sampleID(1), host: String? = nil) -> AccountRecord {
      AccountRecord(id: id, address: address, host: host, resource: "r", isCurrent: false)
    }
    let long = String(repeating: "a", count: 2048)
    for bad in [account(""), account(long), account(id: [1]), account(host: long), account("a\0b")] {
      #expect(throws: StoreError.invalid("an account")) { try database.setAccount(bad) }
    }
    try database.setAccount(account())
    func friend(_ address: String = "f@b", name: String? = nil, presence: String? = nil) -> FriendRecord {
      FriendRecord(account: sampleID(1), address: address, name: name, presence: presence)
    }
    for bad in [friend(""), friend(long), friend(name: long), friend(presence: long), friend("a\0b")] {
      #expect(throws: StoreError.invalid("a friend")) { try database.setFriend(bad) }
    }
    #expect(throws: StoreError.invalid("an address")) { try database.setPeerAddress(digest("cleo"), long) }
    #expect(throws: StoreError.invalid("an address")) { try database.setPeerAddress(digest("cleo"), "") }
  }

  @Test func `there are so many accounts and no more`() throws {
    for number in 0..<UInt8(AccountRecord.limit) { try database.setAccount(sampleAccount(number)) }
    #expect(throws: StoreError.invalid("one more account")) { try database.setAccount(sampleAccount(200)) }
    try database.setAccount(sampleAccount(0, isCurrent: true))
    #expect(try database.accounts().count == AccountRecord.limit)
  }

  @Test func `an account is changed as it is now, but never becomes another`() throws {
    try database.setAccount(sampleAccount(1))
    #expect(try database.updateAccount(sampleID(1)) { $0.archivedTo = "here" })
    #expect(try database.accounts().first?.archivedTo == "here")
    #expect(try !database.updateAccount(sampleID(2)) { $0.archivedTo = "here" })
    #expect(throws: StoreError.self) { try database.updateAccount(sampleID(1)) { $0.isCurrent = true } }
    #expect(throws: StoreError.self) {
      try database.updateAccount(sampleID(1)) { $0.archivedTo = String(repeating: "x", count: 1025) }
    }
    #expect(try database.accounts().first?.archivedTo == "here")
  }

  // MARK: - Passwords

  @Test func `a password is read again, replaced and forgotten`() throws {
    try database.setAccount(sampleAccount(1))
    #expect(try password(1) == nil)
    try database.setAccountPassword(sampleID(1), text("first"))
    #expect(try password(1, in: home.reopen()) == "first")
    let sealed = try sealedPassword()
    try database.setAccountPassword(sampleID(1), text("second"))
    #expect(try password(1) == "second")
    #expect(home.files(containing: sealed) == [])
    // Changing the account leaves it alone.
    try database.setAccount(sampleAccount(1, isCurrent: true))
    #expect(try password(1) == "second")
    let last = try sealedPassword()
    try database.endAccount(sampleID(1))
    #expect(try password(1) == nil)
    #expect(try database.accounts().map(\.isCurrent) == [false])
    #expect(home.files(containing: last) == [])
    #expect(throws: StoreError.notFound("the account")) { try database.setAccountPassword(sampleID(2), text("x")) }
  }

  @Test func `to use an account takes back nothing that others have noted of it meanwhile`() throws {
    let read = sampleAccount(1)
    try database.useAccount(read, password: held("first"))
    #expect(try password(1) == "first")
    #expect(try database.currentAccount()?.id == sampleID(1))
    try database.updateAccount(sampleID(1)) { account in
      account.archivedTo = "later"
      account.resource = "another"
    }
    var moved = read
    moved.host = "elsewhere.example"
    try database.useAccount(moved, password: held("second"))
    let now = try #require(try database.currentAccount())
    #expect(now.archivedTo == "later" && now.resource == "another" && now.host == "elsewhere.example")
    // Where nothing is new but that it is in use, what was read before isn't either.
    try database.useAccount(read, password: nil)
    #expect(try database.currentAccount() == now)
    #expect(try password(1) == "second")
  }

  @Test func `an account that has gone meanwhile doesn't come back without its password`() throws {
    try database.useAccount(sampleAccount(1), password: held("first"))
    try database.removeAccount(sampleID(1))
    #expect(throws: StoreError.notFound("the account")) { try database.useAccount(sampleAccount(1), password: nil) }
    #expect(throws: StoreError.notFound("the account")) { try database.endAccount(sampleID(1)) }
    #expect(try database.accounts() == [])
  }

  @Test func `a password in the place of another doesn't open`() throws {
    for number in 1...2 as ClosedRange<UInt8> {
      try database.setAccount(sampleAccount(number))
      try database.setAccountPassword(sampleID(number), text("password \(number)"))
    }
    try database.write { db in
      try db.execute(
        sql: "UPDATE accounts SET secret = (SELECT secret FROM accounts WHERE id = ?)", arguments: [sampleID(1).blob])
    }
    #expect(try password(1) == "password 1")
    #expect(throws: StoreError.damaged("the password of an account")) { try database.accountPassword(sampleID(2)) }
  }

  private func sealedPassword() throws -> [UInt8] {
    try database.read { db in
      try StoredRow(row: #require(try Row.fetchOne(db, sql: "SELECT secret FROM accounts")), what: "it")
        .bytes("secret")
    }
  }

  // MARK: - Friends

  @Test func `friends are those of their account, and read as they were stored`() throws {
    try database.setAccount(sampleAccount(1))
    try database.setAccount(sampleAccount(2))
    let full = FriendRecord(
      account: sampleID(1), address: "zoe@example.org", name: "Zoë", subscription: .both, asks: true,
      peer: try digest("cleo"), presence: "away", presenceAt: 77)
    let bare = FriendRecord(account: sampleID(1), address: "abe@example.org")
    let other = FriendRecord(account: sampleID(2), address: "abe@example.org", subscription: .to)
    for friend in [full, bare, other] { #expect(try database.setFriend(friend)) }
    let reopened = try home.reopen()
    #expect(try reopened.friends(sampleID(1)) == [bare, full])
    #expect(try reopened.friends(sampleID(2)) == [other])
    #expect(try reopened.friend(sampleID(1), "zoe@example.org") == full)
    #expect(try reopened.friend(sampleID(2), "zoe@example.org") == nil)
    try database.changeFriend(sampleID(1), "abe@example.org") { $0 = nil }
    try database.changeFriend(sampleID(1), "abe@example.org") { $0 = nil }
    #expect(try database.friends(sampleID(1)) == [full])
    #expect(try database.friends(sampleID(2)) == [other])
  }

  @Test func `a friend has an account, and is a peer or none`() throws {
    let friend = FriendRecord(account: sampleID(1), address: "abe@example.org")
    #expect(throws: StoreError.notFound("the account")) { try database.setFriend(friend) }
    try database.setAccount(sampleAccount(1))
    var stranger = friend
    stranger.peer = try digest("nobody")
    #expect(throws: StoreError.unknownRecipient(try digest("nobody"))) { try database.setFriend(stranger) }
    #expect(throws: StoreError.unknownRecipient(try digest("nobody"))) {
      try database.setPeerAddress(digest("nobody"), "a@b")
    }
    #expect(try database.friends(sampleID(1)).isEmpty)
  }

  @Test func `a server can't fill the disk with friends`() throws {
    try database.setAccount(sampleAccount(1))
    try database.write { db in
      try db.execute(
        sql: """
          WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < ?)
          INSERT INTO friends (account, address, sealed) SELECT ?, 'friend' || x, X'00' FROM n
          """, arguments: [FriendRecord.limit - 1, sampleID(1).blob])
    }
    #expect(try database.setFriend(FriendRecord(account: sampleID(1), address: "a@b")))
    #expect(try !database.setFriend(FriendRecord(account: sampleID(1), address: "b@b")))
    #expect(try database.setFriend(FriendRecord(account: sampleID(1), address: "a@b", name: "still")))
    #expect(try database.friends(sampleID(1)).map(\.name) == ["still"])
  }

  @Test(arguments: [
    "friends SET address = 'c@b' WHERE address = 'a@b'", "friends SET sealed = zeroblob(60) WHERE address = 'a@b'",
    "friends SET sealed = (SELECT sealed FROM friends WHERE address = 'b@b') WHERE address = 'a@b'",
  ])
  func `a friend that somebody wrote into the file is left out`(_ change: String) throws {
    try database.setAccount(sampleAccount(1))
    let friends = ["a@b", "b@b"].map { FriendRecord(account: sampleID(1), address: $0) }
    for friend in friends { try database.setFriend(friend) }
    try database.write { db in try db.execute(sql: "UPDATE \(change)") }
    #expect(try database.friends(sampleID(1)) == [friends[1]])
    #expect(throws: StoreError.damaged("a friend")) {
      try database.friend(sampleID(1), change.contains("c@b") ? "c@b" : "a@b")
    }
    if !change.contains("c@b") {
      #expect(try database.setFriend(friends[0]))
      #expect(try database.friends(sampleID(1)) == friends)
    }
  }

  @Test func `a damaged account takes no other along, and can be removed`() throws {
    try database.setAccount(sampleAccount(1))
    try database.setAccount(sampleAccount(2))
    try database.write { db in
      try db.execute(
        sql: "UPDATE accounts SET sealed = (SELECT sealed FROM accounts WHERE id = ?) WHERE id = ?",
        arguments: [sampleID(1).blob, sampleID(2).blob])
    }
    #expect(try database.accounts() == [sampleAccount(1)])
    #expect(try database.damagedAccountCount() == 1)
    try database.setAccount(sampleAccount(3, isCurrent: true))
    #expect(try database.currentAccount()?.id == sampleID(3))
    #expect(try database.removeDamagedAccounts() == 1)
    #expect(try database.damagedAccountCount() == 0)
    #expect(try database.accounts().map(\.id) == [sampleID(1), sampleID(3)])
    #expect(try !database.removeAccount(sampleID(2)))
  }

  @Test func `a plain message that was deleted doesn't come back, others do`() throws {
    for number in 1...2 as ClosedRange<UInt8> { try database.setAccount(sampleAccount(number)) }
    let message = samplePlainMessage(5, account: 1)
    let number = try #require(try database.addMessage(message, parts: [0: held("text")]))
    #expect(try database.removeMessage(number))
    #expect(try home.reopen().addMessage(message, parts: [0: held("text")]) == nil)
    #expect(try database.messages().isEmpty)
    #expect(try database.addMessage(samplePlainMessage(6, account: 1), parts: [0: held("text")]) != nil)
    // The other account has it from its own server.
    #expect(try database.addMessage(samplePlainMessage(5, account: 2), parts: [0: held("text")]) != nil)
    // What is kept of it goes with the account.
    #expect(try database.removeAccount(sampleID(1)))
    try database.setAccount(sampleAccount(1))
    #expect(try database.addMessage(message, parts: [0: held("text")]) != nil)
  }

  @Test func `the oldest deleted messages are forgotten when there are too many`() throws {
    try database.setAccount(sampleAccount(1))
    let messages = (5...6 as ClosedRange<UInt8>).map { samplePlainMessage($0, account: 1) }
    for (place, message) in messages.enumerated() {
      if place == 1 {
        try database.write { db in
          try db.execute(
            sql: "UPDATE removed_messages SET number = number - ?", arguments: [VaultDatabase.removedLimit - 1])
          try db.execute(
            sql: "INSERT INTO removed_messages (number, account, mac) VALUES (1, ?, ?)",
            arguments: [sampleID(9).blob, [UInt8](repeating: 9, count: 32).blob])
        }
      }
      let number = try #require(try database.addMessage(message, parts: [0: held("text")]))
      #expect(try database.removeMessage(number))
    }
    #expect(try database.addMessage(messages[1], parts: [0: held("text")]) == nil)
    #expect(try database.addMessage(messages[0], parts: [0: held("text")]) != nil)
  }

  @Test func `addresses of peers whom only the removed account knew go with it`() throws {
    for name in ["dan", "eve"] { try database.addPeer(samplePeer(name), beaconKey: nil) }
    for number in 1...2 as ClosedRange<UInt8> { try database.setAccount(sampleAccount(number)) }
    for (account, name) in [(1, "cleo"), (1, "dan"), (2, "dan"), (1, "eve")] as [(UInt8, String)] {
      try database.setFriend(
        FriendRecord(account: sampleID(account), address: "\(name)@b", peer: try digest(name)))
      try database.setPeerAddress(digest(name), name == "eve" ? "elsewhere@b" : "\(name)@b")
    }
    try database.removeAccount(sampleID(1))
    #expect(try database.peerAddresses() == [try digest("dan"): "dan@b", try digest("eve"): "elsewhere@b"])
  }

  // MARK: - Addresses

  @Test func `a peer's address is stored, replaced and forgotten`() throws {
    let cleo = try digest("cleo")
    #expect(try database.peerAddress(cleo) == nil)
    try database.setPeerAddress(cleo, "cleo@example.org")
    #expect(try home.reopen().peerAddress(cleo) == "cleo@example.org")
    try database.setPeerAddress(cleo, "cléo@example.net")
    #expect(try database.peerAddresses() == [cleo: "cléo@example.net"])
    try database.setPeerAddress(cleo, nil)
    #expect(try database.peerAddress(cleo) == nil)
  }

  @Test func `an address in the place of another counts for nothing`() throws {
    try database.addPeer(samplePeer("dan"), beaconKey: nil)
    let (cleo, dan) = (try digest("cleo"), try digest("dan"))
    try database.setPeerAddress(cleo, "cleo@example.org")
    try database.setPeerAddress(dan, "dan@example.org")
    try database.write { db in
      try db.execute(
        sql: "UPDATE peer_addresses SET sealed = (SELECT sealed FROM peer_addresses WHERE peer = ?)",
        arguments: [dan.blob])
    }
    #expect(throws: StoreError.damaged("the address of a peer")) { try database.peerAddress(cleo) }
    #expect(try database.peerAddresses() == [dan: "dan@example.org"])
    try database.setPeerAddress(cleo, "cleo@example.org")
    #expect(try database.peerAddress(cleo) == "cleo@example.org")
  }

  // MARK: - Removing, and marks

  @Test func `an account that is removed leaves no trace`() throws {
    for number in 1...2 as ClosedRange<UInt8> {
      try database.setAccount(sampleAccount(number))
      try database.setAccountPassword(sampleID(number), text("password \(number)"))
      try database.setFriend(FriendRecord(account: sampleID(number), address: "f@b"))
      #expect(try database.addMessage(samplePlainMessage(number, account: number), parts: [0: held("text")]) != nil)
    }
    #expect(try database.addMessage(sampleMessage(3, .sent, .waiting), parts: [0: held("text")]) != nil)
    let traces = try database.read { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT sealed FROM accounts WHERE id = :a UNION SELECT secret FROM accounts WHERE id = :a
          UNION SELECT sealed FROM friends WHERE account = :a UNION SELECT sealed FROM messages WHERE account = :a
          UNION SELECT p.sealed FROM message_parts p JOIN messages m USING (number) WHERE m.account = :a
          """, arguments: ["a": sampleID(1).blob]
      ).map { try StoredRow(row: $0, what: "it").bytes("sealed") }
    }
    #expect(traces.count == 5)
    for trace in traces { #expect(home.files(containing: trace) != []) }
    #expect(try database.removeAccount(sampleID(1)))
    for trace in traces + [sampleID(1)] { #expect(home.files(containing: trace) == []) }
    #expect(try database.messages().map { $0.id[0] } == [3, 2])
    #expect(try database.friends(sampleID(2)).count == 1)
    #expect(try password(2) == "password 2")
    #expect(try !database.removeAccount(sampleID(1)))
  }

  private static func change(
    _ database: VaultDatabase, _ change: @Sendable (inout FriendRecord, Int) -> Void
  ) async throws {
    for number in 0..<50 {
      try database.updateFriend(sampleID(1), "zoe@example.org") { change(&$0, number) }
    }
  }

  @Test func `two who change a friend at once lose nothing of one another`() async throws {
    try database.setAccount(sampleAccount(1))
    let (one, other, cleo) = (database, try home.reopen(), try digest("cleo"))
    async let renamed: Void = Self.change(one) { $0.name = "Zoe \($1)" }
    async let seen: Void = Self.change(other) { friend, number in
      friend.peer = cleo
      friend.presenceAt = Int64(number)
    }
    _ = try await (renamed, seen)
    let zoe = try #require(try database.friend(sampleID(1), "zoe@example.org"))
    #expect(zoe.name == "Zoe 49" && zoe.peer == cleo && zoe.presenceAt == 49)
  }

  @Test func `a friend who was removed doesn't come back by a change, and a change can remove one`() throws {
    try database.setAccount(sampleAccount(1))
    func change(_ change: (inout FriendRecord?) -> Void) throws -> FriendRecord? {
      try database.changeFriend(sampleID(1), "zoe@example.org", change)
      return try database.friend(sampleID(1), "zoe@example.org")
    }
    #expect(try change { $0 = FriendRecord(account: sampleID(1), address: "zoe@example.org") } == nil)
    try database.updateFriend(sampleID(1), "zoe@example.org") { $0.asks = true }
    #expect(try change { $0?.name = "Zoe" }?.name == "Zoe")
    #expect(try change { $0 = nil } == nil)
  }

  @Test func `whoever looks at the mark sees what changed, and only that`() throws {
    var last = try database.accountMark()
    func hasChanged() throws -> Bool {
      let mark = try home.reopen().accountMark()
      defer { last = mark }
      return mark != last
    }
    let friend = FriendRecord(account: sampleID(1), address: "f@b")
    let changes: [() throws -> Void] = [
      { try database.setAccount(sampleAccount(1)) }, { try database.setAccountPassword(sampleID(1), text("x")) },
      { try database.setFriend(friend) }, { try database.setPeerAddress(digest("cleo"), "a@b") },
      { try database.setPeerAddress(digest("cleo"), nil) },
      { try database.changeFriend(sampleID(1), "f@b") { $0 = nil } },
      { try database.updateAccount(sampleID(1)) { $0.host = "h" } },
      { try database.endAccount(sampleID(1)) }, { try database.removeAccount(sampleID(1)) },
    ]
    for change in changes {
      try change()
      #expect(try hasChanged())
    }
    try database.setAccount(sampleAccount(1))
    try database.setFriend(friend)
    #expect(try hasChanged())
    var present = friend
    (present.presence, present.presenceAt) = ("here", 5)
    try database.setFriend(present)
    try database.updateAccount(sampleID(1)) { $0.archivedTo = "there" }
    #expect(try !hasChanged())
    #expect(try database.friends(sampleID(1)) == [present])
  }
}
