import Foundation
import PeerAuth
import Sodium
import Synchronization
import Testing
import VaultProtocol

@testable import Grouper
@testable import SecretVault
@testable import VaultGroups
@testable import VaultStore

/// Ann, ben and cleo, who know one another, in a group. Nobody can be dialled any more: what they say goes through its servers.
@Suite(.timeLimit(.minutes(5))) struct ParcelTests {
  private let house: House
  private var ann: Person { house[0] }
  private var ben: Person { house[1] }
  private var cleo: Person { house[2] }

  init() async throws {
    house = try House("ann", "ben", "cleo")
    let group = try await house[0].groups.create(house.plan("Family"))
    for person in house.people.dropFirst() {
      _ = try await house[0].groups.invite(person.name, to: group)
      _ = try await person.groups.join("Family", email: "", userName: nil)
    }
    for person in house.people {
      for other in house.people where other !== person { _ = try await person.vault.links.pingPeer(other.name) }
    }
    for person in house.people + house.people { try await sync(person) }
    for person in house.people { house.set(person, isAway: true) }
  }

  private func family(_ person: Person) async throws -> GroupFacts { try await person.groups.find("Family") }

  /// What `vault group sync` does.
  private func sync(_ people: Person...) async throws {
    for person in people { _ = try await person.groups.sync(family(person)) }
  }

  private func write(_ bytes: [UInt8]) throws -> String {
    let path = house.folder + "/" + UUID().uuidString
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    return path
  }

  /// What `vault share` does.
  private func share(
    _ bytes: [UInt8] = Array("what was shared".utf8), by person: Person, with others: [Person], threshold: Int = 2
  ) async throws -> ShareReport {
    let report = try await person.vault.sharing.share(
      ShareRequest(source: .file(path: try write(bytes)), threshold: threshold, recipients: others.map(\.name))
    ) { _ in }
    _ = try await person.groups.handParcels(for: "test")
    return try person.vault.sharing.refreshed(report)
  }

  private func folder(_ person: Person) async throws -> [UInt8] { try GroupItems.bytes(of: await family(person).id) }

  private func holds(_ person: Person, _ id: String) throws -> Bool {
    try person.vault.overview.secrets().contains { $0.id == id && $0.ownIndex != nil }
  }

  private func delivered(_ person: Person, _ id: String) throws -> Set<String> {
    Set(try person.vault.overview.secret(id).deliveries.filter { $0.state == .delivered }.map(\.peer))
  }

  /// The parcels on which this device's deliveries are on their way, by the names of their objects.
  private func requests(of person: Person) throws -> [String] {
    try person.vault.core.database.parcels(.request).map(\.id.description)
  }

  /// Whether the group has a parcel, as far as somebody's device knows.
  private func has(_ person: Person, _ parcel: String) async throws -> Bool {
    try await person.groups.use(try await family(person).id, for: "test") { open in
      let store = await open.grouper.store
      let newest = try store.read { transaction in try transaction.object(GroupParcels.className, parcel)?.newest }
      return newest.map { !$0.isDeletion } ?? false
    }
  }

  /// Whose mailboxes somebody knows of.
  private func mailboxes(_ person: Person) async throws -> [String] {
    let group = try #require(try await family(person).group)
    let folder = try await folder(person)
    return try house.people.filter { other in
      let tag = try Post.mailboxTag(group: group.bytes, card: other.vault.core.identity.keys.digest)
      return try person.vault.post.hasMailbox(tag, folder: folder)
    }.map(\.name)
  }

  @Test func `everybody knows of everybody's mailbox, and hears of them again where that was lost`() async throws {
    for person in house.people { #expect(try await mailboxes(person) == ["ann", "ben", "cleo"]) }
    try ben.vault.post.leaveMailboxes(folder: await folder(ben))
    #expect(try await mailboxes(ben).isEmpty)
    try await sync(ben)
    #expect(try await mailboxes(ben) == ["ann", "ben", "cleo"])
  }

  @Test func `a mailbox that somebody takes away is put up again by its owner`() async throws {
    let group = try #require(try await family(ben).group)
    let tag = try ben.vault.post.ownMailboxTag(group: group.bytes)
    try await change(by: cleo) { open in
      let name = ObjectName(className: GroupMailboxes.className, objectID: hexadecimal(tag))
      try await open.grouper.sender.delete(name)
    }
    try await sync(ann)
    #expect(try await mailboxes(ann) == ["ann", "cleo"])
    try await sync(ben, ben, ann)
    #expect(try await mailboxes(ann) == ["ann", "ben", "cleo"])
  }

  @Test func `the mailbox of a member who was removed is forgotten`() async throws {
    _ = try await ann.groups.remove("ben", from: family(ann))
    #expect(try await mailboxes(ann) == ["ann", "cleo"])
    try await sync(cleo, ann, cleo)
    #expect(try await mailboxes(cleo) == ["ann", "cleo"])
  }

  @Test func `tags that mean nothing here aren't kept, and a peer's that is added later is`() async throws {
    let card = try ben.vault.core.ownIdentity().qrText
    _ = try cleo.vault.trust.removePeer("ben")
    let folder = try await folder(cleo)
    try cleo.vault.post.leaveMailboxes(folder: folder)
    try await change(by: ann) { open in
      for _ in 0..<10 {
        let name = ObjectName(className: GroupMailboxes.className, objectID: hexadecimal(try Randomness.bytes(16)))
        try await open.grouper.sender.update(MarshalledObject(name: name, content: [1]))
      }
    }
    try await sync(cleo)
    #expect(try cleo.vault.core.database.mailboxes(of: folder).count == 2)
    #expect(try await mailboxes(cleo) == ["ann", "cleo"])
    _ = try cleo.vault.trust.addPeer(try PeerCard.parse(text: card), name: nil)
    try await sync(cleo)
    #expect(try await mailboxes(cleo) == ["ann", "ben", "cleo"])
  }

  @Test func `a share reaches members who are never there when its dealer is`() async throws {
    let report = try await share(by: ann, with: [ben, cleo])
    #expect(report.deliveries.allSatisfy { $0.state != .delivered && $0.onItsWay != nil })
    #expect(try ann.vault.overview.status().peers.map(\.onItsWay) == [1, 1])
    try await sync(ben)
    #expect(try holds(ben, report.id) && !holds(cleo, report.id))
    try await sync(ann)
    #expect(try delivered(ann, report.id) == ["ben"])
    try await sync(cleo, ann)
    #expect(try holds(cleo, report.id))
    #expect(try delivered(ann, report.id) == ["ben", "cleo"])
    #expect(try ann.vault.overview.status().peers.map(\.onItsWay) == [0, 0])
    for person in house.people { try await sync(person) }
    for person in house.people {
      #expect(try person.vault.core.database.parcels(.request).filter { $0.state != .answered }.isEmpty)
    }
  }

  @Test func `a share larger than a message goes in chunks`() async throws {
    var random = FixedRandom(3)
    let bytes = (0..<1_500_000).map { _ in UInt8.random(in: 0...255, using: &random) }
    let report = try await share(bytes, by: ann, with: [ben])
    try await sync(ben, ann)
    #expect(try holds(ben, report.id))
    #expect(try delivered(ann, report.id) == ["ben"])
  }

  @Test func `a secret is recovered from holders who are never there at the same time`() async throws {
    let report = try await share(by: ann, with: [ben, cleo], threshold: 3)
    try await sync(ben, cleo, ann)
    let (house, ann, others) = (house, ann, [ben, cleo])
    let turns = Counter()
    ann.vault.post.fetchParcels {
      _ = try? await ann.groups.fetchParcels(for: "test")
      // Each comes once, after the other has gone.
      let turn = turns.increment()
      guard others.indices.contains(turn) else { return }
      _ = try? await others[turn].groups.sync(await others[turn].groups.find("Family"))
    }
    let path = house.folder + "/recovered"
    // Whoever is patient looks every second whether an answer has come, or waits until a pause is over.
    house.clock.pass(.seconds(1))
    let waits = { (pause: Int64, _: VaultError) in
      for part in [pause, pause % 1000] { house.clock.pass(.milliseconds(part)) }
    }
    _ = try await ann.vault.recovering.patiently(for: 60_000, waits: waits) { () async throws in
      try await ann.vault.recovering.recover(report.id, to: .file(path: path, overwrites: false)) { _ in }
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("what was shared".utf8))
  }

  @Test func `a recovery that doesn't wait asks nobody through a group`() async throws {
    let report = try await share(by: ann, with: [ben])
    try await sync(ben, ann)
    let error = await vaultError {
      _ = try await ann.vault.recovering.recover(report.id, to: .file(path: house.folder + "/x", overwrites: false)) {
        _ in
      }
    }
    #expect(error?.code == .belowThreshold)
    #expect(try ann.vault.core.database.parcels(.request).filter { $0.state != .answered }.isEmpty)
  }

  @Test func `whom a parcel isn't for keeps nothing of it`() async throws {
    let report = try await share(by: ann, with: [ben])
    try await sync(cleo, ben, ann, cleo)
    #expect(try cleo.vault.overview.secrets().isEmpty)
    #expect(try cleo.vault.core.database.parcels().isEmpty)
    #expect(try cleo.vault.consent.requests().isEmpty)
    #expect(try holds(ben, report.id))
  }

  @Test func `a parcel that was taken goes from everybody's device`() async throws {
    _ = try await share(by: ann, with: [ben])
    let parcel = try #require(try requests(of: ann).first)
    try await sync(cleo)
    #expect(try await has(cleo, parcel))
    try await sync(ben, ann, ben, cleo)
    for person in house.people { #expect(try await !has(person, parcel), "\(person.name)") }
  }

  @Test func `what can't be a parcel holds up nothing that its sender says later`() async throws {
    let tag = try Parcel.tag(of: ParcelSeed.fresh().parcelID(), for: ben.vault.core.identity.keys.digest)
    let broken = try ParcelObject.inline([1, 2, 3]).encoded()
    try await put(broken, named: hexadecimal(tag), by: ann)
    try await put([9, 9, 9], named: "no id", by: ann)
    let report = try await share(by: ann, with: [ben])
    try await sync(ben)
    #expect(try holds(ben, report.id))
  }

  @Test func `a parcel for which there is no room is taken when there is some, and holds up nothing meanwhile`()
    async throws
  {
    let now = Int64(house.clock.now)
    var ids: [ParcelID] = []
    for _ in 0..<64 {
      let record = ParcelRecord(
        id: try #require(ParcelID(try Randomness.bytes(16))), direction: .received,
        peer: cleo.vault.core.identity.keys.digest,
        group: try await folder(ben), createdAt: now, expiresAt: now + 86_400_000, nextAttemptAt: now + 43_200_000)
      _ = try ben.vault.core.database.addParcel(record, content: [1], replySecret: nil)
      ids.append(record.id)
    }
    let report = try await share(by: ann, with: [ben])
    house.set(cleo, isAway: false)
    _ = try await ann.vault.items.createKey(named: "family", threshold: 2, recipients: ["cleo"]) { _ in }
    let item = try await ann.vault.items.addItem(
      ItemRequest(source: .file(path: try write([1, 2, 3]))), under: "family")
    _ = try await ann.groups.add(item.id, to: family(ann))
    try await sync(ben)
    #expect(try ben.groups.items(of: await family(ben)).map(\.id) == [item.id])
    #expect(try !holds(ben, report.id))
    try ben.vault.core.database.removeParcels(ids)
    try await sync(ben)
    #expect(try holds(ben, report.id))
  }

  @Test func `a parcel of somebody who is no peer here waits until its sender is one`() async throws {
    let report = try await share(by: ann, with: [ben])
    let parcel = try #require(try requests(of: ann).first)
    let card = try PeerCard.parse(text: ann.vault.core.ownIdentity().text)
    _ = try ben.vault.trust.removePeer("ann")
    try await sync(ben, cleo)
    #expect(try ben.vault.overview.secrets().isEmpty)
    #expect(try ben.vault.core.database.parcels().isEmpty)
    #expect(try await has(ben, parcel))
    #expect(try await has(cleo, parcel))
    _ = try ben.vault.trust.addPeer(card, name: "ann")
    try await sync(ben)
    #expect(try holds(ben, report.id))
  }

  @Test func `nobody takes a parcel that has expired, and its dealer takes it out`() async throws {
    let report = try await share(by: ann, with: [ben])
    house.clock.advance(seconds: 15 * 86_400)
    try await sync(ann)
    // A time ends things when it has been there for an hour.
    house.clock.advance(seconds: 7200)
    try await sync(ann)
    try await sync(ben)
    #expect(try !holds(ben, report.id))
    #expect(try ann.vault.core.database.parcels(.request).allSatisfy { $0.expiresAt > Int64(house.clock.now) })
    // It waits still, and goes again.
    for _ in 0..<6 {
      house.clock.advance(seconds: 3600)
      try await sync(ben, ann)
    }
    #expect(try holds(ben, report.id))
    #expect(try delivered(ann, report.id) == ["ben"])
  }

  @Test func `a request that got lost goes again after a day`() async throws {
    let report = try await share(by: ann, with: [ben])
    let id = try #require(try ann.vault.core.database.parcels(.request).first?.id)
    try await change(by: cleo) { open in
      try await open.grouper.sender.delete(ObjectName(className: GroupParcels.className, objectID: id.description))
    }
    try await sync(ben, ann)
    #expect(try !holds(ben, report.id))
    house.clock.advance(seconds: 90_000)
    try await sync(ann, cleo, ben, ann)
    #expect(try holds(ben, report.id))
    #expect(try delivered(ann, report.id) == ["ben"])
  }

  @Test func `who was reached meanwhile gets no second share, and the parcel goes`() async throws {
    let report = try await share(by: ann, with: [ben])
    let parcel = try #require(try requests(of: ann).first)
    house.set(ben, isAway: false)
    _ = try await ann.vault.sharing.retry(report.id) { _ in }
    #expect(try delivered(ann, report.id) == ["ben"])
    try await sync(ann, ben, ann)
    #expect(try ben.vault.overview.secrets().count == 1)
    #expect(try await !has(ann, parcel))
    #expect(try requests(of: ann).isEmpty)
  }

  @Test func `an older program keeps parcels and mailboxes for a newer one, and the items behind them come`()
    async throws
  {
    let report = try await share(by: ann, with: [ben])
    house.set(cleo, isAway: false)
    _ = try await ann.vault.items.createKey(named: "family", threshold: 2, recipients: ["cleo"]) { _ in }
    let item = try await ann.vault.items.addItem(
      ItemRequest(source: .file(path: try write([1, 2, 3]))), under: "family")
    _ = try await ann.groups.add(item.id, to: family(ann))
    let old = VaultGroups(ben.vault, classes: [GroupItems(items: ben.vault.items)], connector: ben.groups.connector)
    _ = try await old.sync(family(ben))
    #expect(try old.items(of: await family(ben)).map(\.id) == [item.id])
    #expect(try !holds(ben, report.id))
    try await sync(ben)
    #expect(try holds(ben, report.id))
  }

  @Test func `whoever leaves has no mailbox any more, and what was on its way waits again`() async throws {
    let report = try await share(by: ann, with: [ben])
    let folder = try await folder(ann)
    _ = try await ann.groups.leave(family(ann), erases: false)
    #expect(try ann.vault.core.database.mailboxes(of: folder).isEmpty)
    #expect(
      try ann.vault.overview.secret(report.id).deliveries.allSatisfy { $0.onItsWay == nil && $0.state != .delivered })
  }

  @Test func `a daemon takes, answers and posts by itself`() async throws {
    let report = try await share(by: ann, with: [ben])
    let rounds = [ann, ben].map { person in Task { await GroupRounds(person.groups).run() } }
    defer { for task in rounds { task.cancel() } }
    while try delivered(ann, report.id) != ["ben"] { await house.clock.passOnce(.seconds(1)) }
  }

  @Test func `servers that are away get the parcel later`() async throws {
    for server in house.servers.values { server.set(.down) }
    let report = try await share(by: ann, with: [ben])
    #expect(report.deliveries.first?.onItsWay != nil)
    for server in house.servers.values { server.set() }
    try await sync(ann, ben)
    #expect(try holds(ben, report.id))
  }

  /// Puts something into the group as an object of the class `parcel`.
  private func put(_ content: [UInt8], named id: String, by person: Person) async throws {
    try await change(by: person) { open in
      let name = ObjectName(className: GroupParcels.className, objectID: id)
      try await open.grouper.sender.update(MarshalledObject(name: name, content: content))
    }
  }

  /// A change that no program of a vault makes.
  private func change(by person: Person, _ body: (VaultGroup) async throws -> Void) async throws {
    try await person.groups.use(try await family(person).id, for: "test") { open in
      _ = try await open.grouper.round(isFirst: true, isForced: true)
      try await body(open)
      _ = try await open.grouper.round(isFirst: true, isForced: true)
    }
  }
}

private final class Counter: Sendable {
  private let count = Mutex(0)
  var value: Int { count.withLock { $0 } }
  /// The number before.
  @discardableResult func increment() -> Int {
    count.withLock { count in
      defer { count += 1 }
      return count
    }
  }
}
