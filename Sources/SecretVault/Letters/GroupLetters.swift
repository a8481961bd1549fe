import VaultStore

/// Letters about groups, which another part of the program keeps.
package final class GroupLetters: Room {
  package let core: VaultCore
  let directory: Directory
  let links: Links
  let letterTaker = Mutex<(any GroupLetterTaker)?>(nil)

  init(_ core: VaultCore, _ directory: Directory, _ links: Links) {
    self.core = core
    self.directory = directory
    self.links = links
  }
}
