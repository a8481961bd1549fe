/// The side that answers peers.
package final class Answering: Room {
  package let core: VaultCore
  let directory: Directory
  let introductions: Introductions
  let circles: Circles
  let trust: TrustList
  let letters: GroupLetters
  let carrying: Carrying
  let post: Post
  let messages: Messages
  let consent: Consent
  let items: Items
  let meetings: Meetings
  let sessions = SessionCount()
  let arrivals = ArrivalMemory()

  init(
    _ core: VaultCore, _ directory: Directory, _ introductions: Introductions, _ circles: Circles, _ trust: TrustList,
    _ letters: GroupLetters, _ carrying: Carrying, _ post: Post, _ messages: Messages, _ consent: Consent,
    _ items: Items, _ meetings: Meetings
  ) {
    self.core = core
    self.directory = directory
    self.introductions = introductions
    self.circles = circles
    self.trust = trust
    self.letters = letters
    self.carrying = carrying
    self.post = post
    self.messages = messages
    self.consent = consent
    self.items = items
    self.meetings = meetings
  }
}
