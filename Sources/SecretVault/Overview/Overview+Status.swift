import ShamirKit
import Sodium
import VaultStore

extension Overview {
  /// Where this device stands: itself, its daemon, peers, secrets and what waits. Asks nobody.
  package func status() throws -> VaultStatus {
    let listing: SecretListing
    let damaged: [SecretID]
    do { (listing, damaged) = try database.soundListing() } catch { throw core.damage(error) }
    let list = try directory.secretList(of: circles.current(listing))
    let introductions = try database.damagedIntroductions()
    let drills = try database.drills()
    let daemon = try DaemonLock.running(folders)
    let secrets = list.listing.lines.map { line in
      VaultStatus.Secret(summary: list.summary(line), lastCheck: drills[line.id])
    }
    return VaultStatus(
      identity: try core.ownIdentity(), daemon: daemon, peers: try peers(list.listing, drills), secrets: secrets,
      damaged: damaged.map(\.description),
      damagedIntroductions: introductions.map { hexadecimal($0) }.sorted(), lost: try directory.lostShares(),
      lostItems: try directory.lostItems(),
      changedSettings: try core.settings().filter { $0.value != $0.defaultValue },
      requests: try consent.requests().filter { $0.state == .waiting }, nearby: core.nearbySettings())
  }

  private func peers(_ listing: SecretListing, _ drills: [SecretID: DrillRecord]) throws -> [VaultStatus.Peer] {
    var holds: [Digest: Set<String>] = [:]
    for line in listing.lines where line.origin == .held {
      holds[listing.dealers[line.dealer], default: []].insert(line.id.description)
    }
    for (id, drill) in drills {
      for holder in drill.holders { holds[holder.peer, default: []].insert(id.description) }
    }
    var waiting: [Digest: Int] = [:]
    for entry in try database.waitingDeliveries() {
      waiting[entry.entry.recipient, default: 0] += 1
    }
    let ways = try post.parcelWays()
    var onItsWay: [Digest: Int] = [:]
    for way in ways.deliveries.values { onItsWay[way.peer, default: 0] += 1 }
    // Who holds a secret that has changed is known: what was delivered or dealt before says nothing of it.
    var changed: [String: Set<Digest>] = [:]
    let ids = Set(try database.secretsWithRecords())
    for line in listing.lines where ids.contains(line.id) {
      guard let record = try database.secret(line.id), let holders = try circles.changed(record)?.holders else {
        continue
      }
      changed[line.id.description] = Set(holders.values)
    }
    let here = Set(listing.lines.map(\.id.description))
    let records: [PeerRecord]
    do { records = try database.peers() } catch { throw core.damage(error) }
    return try records.map { record in
      let given = try database.secretsDelivered(to: record.digest)
      let known = Set(given.map(\.description)).intersection(here).union(holds[record.digest] ?? [])
      let ids = known.filter { changed[$0] == nil }.union(changed.filter { $0.value.contains(record.digest) }.keys)
      return VaultStatus.Peer(
        summary: try directory.summary(record), holds: ids.sorted(), waiting: waiting[record.digest] ?? 0,
        onItsWay: min(onItsWay[record.digest] ?? 0, waiting[record.digest] ?? 0),
        saysReplacedSince: try trust.saidReplaced(record.digest))
    }
  }
}
