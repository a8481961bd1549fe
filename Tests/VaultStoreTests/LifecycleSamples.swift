import Sodium
import Testing

@testable import VaultStore

/// A row about secret `number`; its content is its name unless it is said.
func sampleRow(
  _ number: UInt8, _ kind: LifecycleRecord.Kind, _ name: String, _ content: String? = nil, at time: Int64 = 1
) throws -> LifecycleRecord {
  LifecycleRecord(
    secretID: sampleID(number), name: .init(kind, try digest(name)), content: Array((content ?? name).utf8),
    addedAt: time)
}

/// A vault that holds share 2 of secret 1, `share 0`, as it was dealt.
func holding(_ home: TestHome) throws -> VaultDatabase {
  let database = try home.makeDatabase()
  let fragment = try placeFragment(database, 1, index: 2)
  #expect(try database.deposit(sampleSecret(1), share: text("share 0"), index: 2, fragment: fragment) == .stored)
  return database
}

/// Takes over share 2 of secret 1 in a later epoch: `share 1` in epoch 1.
func takeOver(
  _ database: VaultDatabase, epoch: Int64, adding: [LifecycleRecord] = [],
  removing: Set<LifecycleRecord.Name> = []
) throws {
  try database.takeOver(
    text("share \(epoch)"), index: 2, epoch: epoch, of: sampleSecret(1), fragment: nil, adding: adding,
    removing: removing)
}

/// What is in the shares of secret 1, oldest first.
func shareTexts(_ database: VaultDatabase) throws -> [String] {
  try database.epochs(ofSecret: sampleID(1)).map { epoch in
    guard let share = try database.share(ofSecret: sampleID(1), epoch: epoch) else { return "none" }
    return String(decoding: publicCopy(share.bytes), as: UTF8.self)
  }
}

/// The shares of secret 1 as they lie in the store, newest first.
func sealedShares(_ database: VaultDatabase) throws -> [SealedShareRow] {
  try database.read { db in try VaultDatabase.shares(of: sampleID(1), db) }
}

func companionPath(_ home: TestHome, _ number: UInt8 = 1) -> String {
  home.folders.companionsPath + "/" + String(hexadecimalName(number, 1).dropLast(2))
}
