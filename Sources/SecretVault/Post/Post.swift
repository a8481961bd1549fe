import Synchronization

/// Own parcels and receipts, and by which way each goes next.
package final class Post: Room {
  package let core: VaultCore
  let directory: Directory
  let introductions: Introductions
  let carrying: Carrying
  let accounts: Accounts
  let parcelMemory = ParcelMemory()
  let parcelFetch = Mutex<(@Sendable () async -> Void)?>(nil)

  init(
    _ core: VaultCore, _ directory: Directory, _ introductions: Introductions, _ carrying: Carrying,
    _ accounts: Accounts
  ) {
    self.core = core
    self.directory = directory
    self.introductions = introductions
    self.carrying = carrying
    self.accounts = accounts
  }
}
