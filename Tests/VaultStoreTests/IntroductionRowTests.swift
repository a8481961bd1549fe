import GRDB
import Testing

@testable import VaultStore

/// Rows of introductions: what is damaged costs its own holder alone, and comes back from the companion of its secret.
@Suite struct IntroductionRowTests {
  /// Secrets 1 and 2, with dave and erin as their holders.
  private func furnished(_ home: TestHome) throws -> VaultDatabase {
    let database = try home.makeDatabase()
    for number: UInt8 in 1...2 {
      let fragment = try placeFragment(database, number, index: 2)
      _ = try database.deposit(sampleSecret(number), share: text("share"), index: 2, fragment: fragment)
      try database.changeIntroductions(ofSecret: sampleID(number)) { rows, _ throws(StoreError) in
        rows = try ["dave", "erin"].map { (name) throws(StoreError) in try introduction(of: name, number) }
      }
    }
    return database
  }

  private func introduction(of name: String, _ number: UInt8) throws(StoreError) -> IntroductionRecord {
    do {
      return IntroductionRecord(
        secretID: sampleID(number), digest: try digest(name), noiseKey: try digest(name + " speaks").bytes, index: 3,
        dealer: try digest("dealer"), card: Array("card of \(name)".utf8), addedAt: 7)
    } catch { throw .invalid("the test") }
  }

  private func names(_ database: VaultDatabase, _ number: UInt8 = 1) throws -> Set<String> {
    Set(
      try database.introductions(ofSecret: sampleID(number)).map {
        "\(String(decoding: $0.card, as: UTF8.self)) \($0.state)"
      })
  }

  private func damage(_ database: VaultDatabase, _ change: String) throws {
    let dave = try digest("dave").blob
    try database.pool.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA foreign_keys = OFF")
      try db.execute(
        sql: "UPDATE introductions SET \(change) WHERE secret_id = ? AND digest = ?",
        arguments: [sampleID(1).blob, dave])
      try db.execute(sql: "PRAGMA foreign_keys = ON")
    }
  }

  private static let changes = [
    "card = zeroblob(length(card))", "noise_key = zeroblob(32)", "digest = zeroblob(32)", "dealer = zeroblob(32)",
    "secret_id = zeroblob(16)", "state = 'lost'", "mac = zeroblob(32)",
  ]
  private let both: Set = ["card of dave active", "card of erin active"]

  @Test(arguments: changes)
  func `a damaged row is left out and named, and a sweep makes it anew`(change: String) throws {
    let home = try TestHome()
    let database = try furnished(home)
    try damage(database, change)
    #expect(try names(database) == ["card of erin active"])
    #expect(try database.introductions().count == 3 && !database.isSound())
    #expect(try database.damagedIntroductions().count == 1)
    #expect(try database.introductions(noiseKey: digest("dave speaks").bytes, limit: 9).count == 1)
    #expect(try database.takeUpLost(thoroughly: true) == [])
    #expect(try names(database) == both && names(database, 2) == both)
    #expect(try database.damagedIntroductions().isEmpty && database.isSound() == (database.identity() != nil))
  }

  @Test(arguments: changes)
  func `it stands in the way of no other introduction`(change: String) throws {
    let home = try TestHome()
    let database = try furnished(home)
    try damage(database, change)
    for number: UInt8 in 1...2 {
      try database.changeIntroductions(ofSecret: sampleID(number)) { rows, context throws(StoreError) in
        let frank = try introduction(of: "frank", number)
        #expect(try !context.isOthers(noiseKey: frank.noiseKey, than: frank.digest))
        if number == 2 {
          let dave = try introduction(of: "dave", 1)
          #expect(try context.isOthers(noiseKey: dave.noiseKey, than: frank.digest))
          #expect(try !context.isOthers(noiseKey: dave.noiseKey, than: dave.digest))
        }
        rows.append(frank)
      }
      #expect(try names(database, number).isSuperset(of: ["card of erin active", "card of frank active"]))
    }
    // What has lost its secret's name is news to nobody until the sweep: a companion that was written before that lacks it.
    guard !change.hasPrefix("secret_id") else { return }
    _ = try database.takeUpLost(thoroughly: true)
    #expect(try names(database) == both.union(["card of frank active"]))
  }

  @Test func `a policy that is set meanwhile is in the companion, and the introductions are still`() throws {
    let home = try TestHome()
    let database = try furnished(home)
    try damage(database, "card = zeroblob(length(card))")
    try database.setPolicy("ask", ofSecret: sampleID(1), at: 1)
    try database.write { db in for table in ["secrets", "shares"] { try db.execute(sql: "DELETE FROM \(table)") } }
    #expect(try Set(database.takeUpLost(thoroughly: true)) == [sampleID(1), sampleID(2)])
    #expect(try database.policy(ofSecret: sampleID(1)) == "ask")
    #expect(try names(database) == both)
  }

  @Test func `with a companion that can't be read the policy is kept, and the row stays named`() throws {
    let home = try TestHome()
    let database = try furnished(home)
    try damage(database, "card = zeroblob(length(card))")
    let path = home.folders.companionsPath + "/" + String(hexadecimalName(1, 1).dropLast(2))
    try write([1], to: path)
    try database.setPolicy("ask", ofSecret: sampleID(1), at: 1)
    #expect(try database.damagedIntroductions() == [sampleID(1)])
    #expect(try database.companions.readSecret(sampleID(1)).policy == "ask")
    #expect(try names(database) == ["card of erin active"])
    // The dealer's next word puts it right.
    try database.changeIntroductions(ofSecret: sampleID(1)) { rows, _ throws(StoreError) in
      rows.append(try introduction(of: "dave", 1))
    }
    #expect(try names(database) == both && database.damagedIntroductions().isEmpty)
  }

  @Test(arguments: ["card = x'01', byte_count = 1", "state = 'lost'"])
  func `whose row is damaged can be removed, and isn't brought back`(change: String) throws {
    let home = try TestHome()
    let database = try furnished(home)
    try damage(database, change)
    try database.removeIntroductions(of: digest("dave"))
    _ = try database.takeUpLost(thoroughly: true)
    #expect(try !names(database).contains("card of dave active"))
    #expect(try database.introduction(of: digest("dave")) == nil && database.introducers(of: digest("dave")).isEmpty)
    let dave = try digest("dave")
    let companion = try database.companions.readSecret(sampleID(1))
    #expect(companion.introductions.allSatisfy { $0.digest != dave || $0.state == .removed })
    // Nor once it was removed.
    try database.write { db in try db.execute(sql: "UPDATE introductions SET state = 'active'") }
    _ = try database.takeUpLost(thoroughly: true)
    #expect(try database.introduction(of: digest("dave")) == nil)
    #expect(try names(database).contains("card of erin active"))
  }

  @Test func `somebody is introduced as long as one row counts, whatever was verified before`() throws {
    let home = try TestHome()
    let database = try furnished(home)
    let dave = try digest("dave")
    var mark = TrustMark()
    #expect(try database.isIntroduced(dave, mark: &mark))
    try database.updateIntroductions(of: dave, replacing: [Array("card of dave".utf8)], with: [7])
    #expect(try database.introductions().filter { $0.card == [7] }.count == 2)
    #expect(try database.isIntroduced(dave, mark: &mark))
    try damage(database, "mac = zeroblob(32)")
    #expect(try database.isIntroduced(dave, mark: &mark))
    try database.removeIntroductions(of: dave)
    #expect(try !database.isIntroduced(dave, mark: &mark))
    #expect(try database.isIntroduced(digest("erin"), mark: &mark))
  }

  @Test func `a newer card is written for all secrets in one transaction`() throws {
    let home = try TestHome()
    let database = try furnished(home)
    let before = database.companions.mark()
    try database.updateIntroductions(of: digest("erin"), replacing: [Array("card of erin".utf8)], with: [7])
    #expect(database.companions.mark() == before + 1)
    for number: UInt8 in 1...2 {
      #expect(try database.companions.readSecret(sampleID(number)).introductions.contains { $0.card == [7] })
    }
    // What it doesn't replace it leaves alone.
    try database.updateIntroductions(of: digest("dave"), replacing: [[1]], with: [7])
    #expect(try names(database).contains("card of dave active"))
  }
}
