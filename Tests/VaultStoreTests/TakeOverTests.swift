import GRDB
import Glibc
import ShamirKit
import Sodium
import Testing

@testable import VaultStore

/// Shares of later epochs: taken over, served, and erased.
@Suite struct TakeOverTests {
  @Test func `a share is taken over beside the older ones, with what belongs to it`() throws {
    let home = try TestHome()
    let database = try holding(home)
    let (old, new) = (try sampleRow(1, .dealing, "old"), try sampleRow(1, .joining, "ready"))
    try database.changeLifecycle(ofSecret: sampleID(1), adding: [old])
    try takeOver(database, epoch: 1, adding: [new], removing: [old.name])
    try takeOver(database, epoch: 7)
    let reopened = try home.reopen()
    #expect(try reopened.epochs(ofSecret: sampleID(1)) == [0, 1, 7])
    #expect(try shareTexts(reopened) == ["share 0", "share 1", "share 7"])
    #expect(try reopened.lifecycle(ofSecret: sampleID(1)) == [new])
    #expect(try reopened.secret(sampleID(1)) == sampleSecret(1))
    #expect(try shareTexts(reopened).count == sealedShares(reopened).count)
    #expect(home.files(containing: Array("share 1".utf8)) == [])
  }

  @Test func `somebody new stores secret, fragment, share and rows at once`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let header = try sampleRow(1, .header, "header")
    try database.changeLifecycle(ofSecret: sampleID(1), adding: [header])
    let fragment = try placeFragment(database, 1, index: 2)
    let ready = try sampleRow(1, .joining, "ready", at: 2)
    try database.takeOver(
      text("share 3"), index: 2, epoch: 3, of: sampleSecret(1), fragment: fragment, adding: [ready])
    let reopened = try home.reopen()
    #expect(try reopened.secret(sampleID(1)) == sampleSecret(1))
    #expect(try shareTexts(reopened) == ["share 3"])
    #expect(try reopened.share(ofSecret: sampleID(1)) == nil)
    #expect(try reopened.openFragment(of: sampleID(1), index: 2).byteCount == 100)
    #expect(try reopened.lifecycle(ofSecret: sampleID(1)) == [header, ready])
    #expect(try reopened.companions.readSecret(sampleID(1)).lifecycle == [header, ready])
  }

  @Test func `what the last drill found of those who held it before is forgotten`() throws {
    let home = try TestHome()
    let database = try holding(home)
    let drill = DrillRecord(
      secretID: sampleID(1), checkedAt: 5, answered: 3, needed: 2, isRecoverable: true, warned: .none, holders: [])
    try database.putDrill(drill)
    #expect(try database.drill(ofSecret: sampleID(1)) == drill)
    try takeOver(database, epoch: 1)
    #expect(try database.drill(ofSecret: sampleID(1)) == nil)
  }

  @Test func `a dealer without a share takes one over`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let staged = try stageFragments(database, 1, count: 3)
    try database.deal(
      sampleSecret(1, origin: .dealt, ownIndex: nil), ownShare: nil, fragments: staged.records, outbox: [])
    staged.staging.close()
    try takeOver(database, epoch: 1)
    #expect(try database.secret(sampleID(1)) == sampleSecret(1, origin: .dealt, ownIndex: 2))
    #expect(try shareTexts(database) == ["share 1"])
  }

  private enum Fault: CaseIterable {
    case sameEpoch, otherIndex, otherHeader, longRow, foreignRow
  }

  @Test(arguments: Fault.allCases)
  private func `what can't be taken over whole changes nothing`(_ fault: Fault) throws {
    let home = try TestHome()
    let database = try holding(home)
    let kept = try sampleRow(1, .dealing, "kept")
    try takeOver(database, epoch: 1, adding: [kept])
    let companion = contents(companionPath(home))
    let other = try placeFragment(database, 1, index: 3)
    let long = String(repeating: "a", count: LifecycleRecord.byteLimit + 1)
    let row =
      switch fault {
      case .longRow: try sampleRow(1, .joining, "ready", long)
      case .foreignRow: try sampleRow(2, .joining, "ready")
      default: try sampleRow(1, .joining, "ready")
      }
    let expected: StoreError =
      switch fault {
      case .sameEpoch, .otherIndex: .alreadyExists("a share of secret \(sampleID(1))")
      case .otherHeader: .alreadyExists("secret \(sampleID(1))")
      case .longRow, .foreignRow: .invalid("what was said about a secret's holders")
      }
    #expect(throws: expected) {
      try database.takeOver(
        text("share 2"), index: fault == .otherIndex ? 3 : 2, epoch: fault == .sameEpoch ? 1 : 2,
        of: sampleSecret(1, header: fault == .otherHeader ? "another" : "header"),
        fragment: fault == .otherIndex ? other : nil, adding: [row], removing: [kept.name])
    }
    #expect(try shareTexts(database) == ["share 0", "share 1"])
    #expect(try database.lifecycle(ofSecret: sampleID(1)) == [kept])
    #expect(try database.secret(sampleID(1)) == sampleSecret(1))
    #expect(try database.fragments(of: sampleID(1)).filter(\.isComplete).map(\.index) == [2])
    #expect(contents(companionPath(home)) == companion)
  }

  @Test func `without its whole fragment a share isn't taken over`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let row = try sampleRow(1, .joining, "ready")
    func take(_ fragment: FragmentRecord?) throws {
      try database.takeOver(text("share 1"), index: 2, epoch: 1, of: sampleSecret(1), fragment: fragment, adding: [row])
    }
    #expect(throws: StoreError.invalid("a share without its fragment")) { try take(nil) }
    let other = try placeFragment(database, 1, index: 3)
    #expect(throws: StoreError.invalid("a fragment of another secret")) { try take(other) }
    let foreign = try placeFragment(database, 2, index: 2)
    #expect(throws: StoreError.invalid("a fragment of another secret")) { try take(foreign) }
    let own = try placeFragment(database, 1, index: 2)
    unlink(try database.fragments.path(sampleID(1), 2))
    #expect(throws: StoreError.damaged("the file of fragment 2 of secret \(sampleID(1))")) { try take(own) }
    #expect(try database.secrets() == [] && database.lifecycle(ofSecret: sampleID(1)) == [])
    #expect(try database.epochs(ofSecret: sampleID(1)) == [] && !exists(companionPath(home)))
  }

  @Test func `of a secret that the user has deleted no share is taken over`() throws {
    let home = try TestHome()
    let database = try holding(home)
    try database.deleteSecret(sampleID(1), at: 5)
    let fragment = try placeFragment(database, 1, index: 2)
    #expect(throws: StoreError.notFound("the secret")) {
      try database.takeOver(
        text("share 1"), index: 2, epoch: 1, of: sampleSecret(1), fragment: fragment,
        adding: [sampleRow(1, .joining, "ready")])
    }
    #expect(try database.secrets() == [] && database.lifecycle(ofSecret: sampleID(1)) == [])
    #expect(try database.epochs(ofSecret: sampleID(1)) == [])
  }

  @Test func `of a receiving key that a taking over ends no file has anything`() throws {
    let home = try TestHome()
    let database = try holding(home)
    let key = try database.receivingKey(text("private"), named: digest("a"), ofSecret: sampleID(1), at: 1)
    try database.changeLifecycle(ofSecret: sampleID(1), adding: [key])
    try #require(home.files(containing: key.content) != [])
    try takeOver(database, epoch: 1, removing: [key.name])
    #expect(home.files(containing: key.content) == [])
  }

  // MARK: - Serving

  @Test func `a share of a later epoch that doesn't open is taken from the companion`() throws {
    let home = try TestHome()
    let database = try holding(home)
    for epoch: Int64 in 1...2 { try takeOver(database, epoch: epoch) }
    for epoch: Int64 in 0...2 {
      try database.write { db in
        try db.execute(sql: "UPDATE shares SET sealed = zeroblob(80) WHERE epoch = ?", arguments: [epoch])
      }
      #expect(try shareTexts(database) == ["share 0", "share 1", "share 2"])
    }
    #expect(try database.takeUpLost(thoroughly: true) == [sampleID(1)])
    try database.companions.remove(.secret(sampleID(1)))
    #expect(try shareTexts(database) == ["share 0", "share 1", "share 2"])
  }

  @Test func `a share that doesn't open is not what its companion is written from`() throws {
    let home = try TestHome()
    let database = try holding(home)
    try takeOver(database, epoch: 1)
    for change in [
      { try database.setState(.disputed, ofSecret: sampleID(1)) },
      { try database.changeLifecycle(ofSecret: sampleID(1), adding: [sampleRow(1, .wish, "a")]) },
      { try takeOver(database, epoch: 2) },
    ] {
      try database.write { db in try db.execute(sql: "UPDATE shares SET sealed = zeroblob(80)") }
      try change()
      #expect(try shareTexts(database).prefix(2) == ["share 0", "share 1"])
    }
    try database.takeUpLost(thoroughly: true)
    try database.companions.remove(.secret(sampleID(1)))
    #expect(try shareTexts(database) == ["share 0", "share 1", "share 2"])
  }

  @Test func `shares whose epochs were exchanged don't open, and are mended`() throws {
    let home = try TestHome()
    let database = try holding(home)
    try takeOver(database, epoch: 1)
    let companion = contents(companionPath(home))
    try database.write { db in
      for (from, to) in [(0, 9), (1, 0), (9, 1)] {
        try db.execute(sql: "UPDATE shares SET epoch = ? WHERE epoch = ?", arguments: [to, from])
      }
    }
    unlink(companionPath(home))
    #expect(throws: StoreError.damaged("the share of secret \(sampleID(1))")) { _ = try shareTexts(database) }
    try write(companion, to: companionPath(home))
    #expect(try database.takeUpLost(thoroughly: true) == [sampleID(1)])
    unlink(companionPath(home))
    #expect(try shareTexts(database) == ["share 0", "share 1"])
  }

  // MARK: - Erasing

  @Test func `of shares that were erased no file has anything, the newer ones stay`() throws {
    let home = try TestHome()
    let database = try holding(home)
    for epoch: Int64 in 1...2 { try takeOver(database, epoch: epoch) }
    let sealed = try sealedShares(database)
    for share in sealed { try #require(home.files(containing: share.sealed).contains(companionPath(home))) }
    try database.changeLifecycle(ofSecret: sampleID(1), erasingSharesBelow: 2)
    #expect(try shareTexts(database) == ["share 2"])
    #expect(home.files(containing: sealed[0].sealed).contains(companionPath(home)))
    for share in sealed.dropFirst() { #expect(home.files(containing: share.sealed) == []) }
    #expect(try database.takeUpLost(thoroughly: true) == [])
    #expect(try shareTexts(home.reopen()) == ["share 2"])
  }

  @Test func `the last share isn't erased, whatever the epoch`() throws {
    let home = try TestHome()
    let database = try holding(home)
    try database.changeLifecycle(ofSecret: sampleID(1), erasingSharesBelow: 5)
    #expect(try shareTexts(database) == ["share 0"])
    try takeOver(database, epoch: 1)
    try database.changeLifecycle(ofSecret: sampleID(1), erasingSharesBelow: .max)
    #expect(try shareTexts(database) == ["share 0", "share 1"])
    try database.changeLifecycle(ofSecret: sampleID(1), erasingSharesBelow: 1)
    #expect(try shareTexts(database) == ["share 1"])
  }

  @Test func `another secret's shares aren't erased`() throws {
    let home = try TestHome()
    let database = try holding(home)
    let fragment = try placeFragment(database, 2, index: 2)
    _ = try database.deposit(sampleSecret(2), share: text("another"), index: 2, fragment: fragment)
    try takeOver(database, epoch: 1)
    try database.changeLifecycle(ofSecret: sampleID(1), erasingSharesBelow: 1)
    #expect(try shareIndex(database, 1) == nil && shareIndex(database, 2) == 2)
  }

  @Test func `the companion that had an erased share is overwritten where it lay`() throws {
    let home = try TestHome()
    let database = try holding(home)
    let key = try database.receivingKey(text("private"), named: digest("a"), ofSecret: sampleID(1), at: 1)
    try takeOver(database, epoch: 1, adding: [key])
    // Another name of the same bytes on the disk.
    let kept = home.path + "/kept"
    try #require(link(companionPath(home), kept) == 0)
    try database.changeLifecycle(ofSecret: sampleID(1), erasingSharesBelow: 1)
    #expect(contents(kept).allSatisfy { $0 == 0 } && !contents(kept).isEmpty)
    unlink(kept)
    try #require(link(companionPath(home), kept) == 0)
    try database.changeLifecycle(ofSecret: sampleID(1), removing: [key.name])
    #expect(contents(kept).allSatisfy { $0 == 0 } && !contents(kept).isEmpty)
    #expect(try database.takeUpLost(thoroughly: true) == [])
  }
}
