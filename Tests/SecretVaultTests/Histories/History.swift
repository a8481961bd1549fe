import Foundation
import PeerAuth
import ShamirKit
import Sodium
import Testing
import VaultStore

@testable import SecretVault

/// A secret in a circle of devices to which things happen that are drawn by lot, and what must be true behind each of
/// them. Devices and their databases are real; the network has faults, and time is the test's.
///
/// The seed decides what happens. Keys and shares are others each time.
final class History {
  let seed: UInt64
  private let circle: ChangingCircle
  /// Whose program lies.
  private let liar: Int?
  private var random: SplitMix
  private(set) var ledger = Ledger()
  /// Devices that hold shares in the place of lost ones.
  private(set) var regained = 0
  /// Nobody hears of these for now.
  private var away: Set<Int> = []
  private var lost: Set<Int> = []
  /// Lost devices in whose place others have been put.
  private var replaced: Set<Int> = []
  /// Carries parcels, in every other history; sometimes nothing else gets through.
  private let office: ParcelOffice?
  private var isCutOff = false
  /// Older copies of devices' folders, and the epochs of which they have shares.
  private var copies: [Int: (path: String, epochs: Set<Digest>)] = [:]
  /// The proposals that each person has made or said yes to.
  private var agreed: [Int: Set<Digest>] = [:]
  private var story: [String] = []

  init(seed: UInt64) async throws {
    self.seed = seed
    random = SplitMix(seed: seed)
    let count = Int.random(in: 5...7, using: &random)
    let holders = Int.random(in: 4...(count - 1), using: &random)
    let threshold = Int.random(in: 2...(holders - 2), using: &random)
    liar = Bool.random(using: &random) ? Int.random(in: 1..<holders, using: &random) : nil
    circle = try await ChangingCircle(count, threshold: threshold, holders: Array(1..<holders), byteCount: 5000)
    office = Bool.random(using: &random) ? try ParcelOffice(circle.world) : nil
    story.append(
      "\(office == nil ? "" : "by parcel, too: ")\(threshold) of \(holders), and \(count - holders) more; \(liar.map { "\($0) lies" } ?? "nobody lies")"
    )
    try look()
  }

  private var world: TestWorld { circle.world }
  private var id: SecretID { circle.id }
  private var everybody: Range<Int> { 0..<world.members.count }
  private var living: Set<Int> { Set(everybody).subtracting(lost) }
  private var honest: Set<Int> { liar.map { living.subtracting([$0]) } ?? living }
  /// Those who are there and honest, in an order drawn by lot.
  private func present() -> [Int] { honest.subtracting(away).sorted().shuffled(using: &random) }

  private func holding() -> [Int] { present().filter { ledger.held[$0]?.isEmpty == false } }

  // MARK: - What happens

  func play(_ steps: Int) async throws {
    for _ in 0..<steps {
      try await step()
      world.clock.advance(by: .seconds(7200))
      try look()
    }
    try await end()
  }

  private func step() async throws {
    switch Int.random(in: 0..<22, using: &random) {
    case 0..<4: if let member = holding().first { try await order(by: member) }
    case 4..<9: for member in present().prefix(4) { try await decide(member) }
    case 9..<12: try await exchange(Array(present().prefix(Int.random(in: 2...5, using: &random))))
    case 12: try await fork()
    case 13, 14: comeOrGo()
    case 15: try await passAMonth()
    case 16: loseDevice()
    case 17, 18: try copyOrRestore()
    case 19, 20: try await replaceDevice()
    default: try lie()
    }
  }

  private func order(by member: Int) async throws {
    let names = world.members.map(\.name)
    let holders = Set(ledger.newest?.holders?.values.map { $0 } ?? [])
    let isHolder = names.indices.map { ledger.newest?.holders == nil ? $0 < 4 : holders.contains(card($0)) }
    let (some, others) = (names.indices.filter { isHolder[$0] }, names.indices.filter { !isHolder[$0] })
    let from = names[some.filter { $0 != member }.randomElement(using: &random) ?? member]
    let to = names[others.filter { $0 != member }.randomElement(using: &random) ?? member]
    let threshold = (ledger.newest?.scheme.threshold ?? 2) + Int.random(in: -1...1, using: &random)
    let orders: [ChangeOrder] = [
      .refresh, .add(to), .remove(from), .replace(from, by: to), .threshold(threshold), .refresh,
    ]
    guard let order = orders.randomElement(using: &random) else { return }
    let leavesOut = Int.random(in: 0..<4, using: &random) == 0
    story.append("\(member) orders \(order)\(leavesOut ? ", leaving out who is absent" : "")")
    try await allowing([.usage, .notFound, .refused]) {
      _ = try await circle.vault(member).changing.order(order, of: ["letter"], leavingOutAbsent: leavesOut)
    }
    try giveUpUnsound(member)
  }

  /// Nobody wants holders of whom none may be lost: such an order is cancelled at once, and others say no to it.
  private func giveUpUnsound(_ member: Int) throws {
    guard let known = try circle.vault(member).circles.circle(of: id) else { return }
    for (digest, proposal) in known.proposals where proposal.asker.digest == card(member) {
      agreed[member, default: []].insert(digest)
      guard proposal.rows.count == Int(proposal.threshold), known.open[digest] != nil,
        try circle.vault(member).circles.decision(on: digest, of: id) == true
      else { continue }
      try circle.vault(member).changing.cancel("letter")
    }
  }

  /// Somebody looks at what is asked.
  private func decide(_ member: Int, alwaysAgrees: Bool = false) async throws {
    let vault = circle.vault(member)
    try vault.changing.askUser(id)
    for row in try vault.core.database.requests() where row.kind == .change && row.state == .waiting {
      guard let request = try vault.consent.requests().first(where: { $0.id == row.id }) else { continue }
      let isSound = request.change.map { $0.count > $0.threshold } ?? true
      let agrees = isSound && (alwaysAgrees || Int.random(in: 0..<6, using: &random) > 0)
      story.append("\(member) says \(agrees ? "yes" : "no") to \(row.id), of \(request.peer)")
      try await allowing([.notFound, .usage, .refused]) {
        if agrees {
          _ = try await vault.consent.approveRequest(row.id)
          agreed[member, default: []].insert(row.headerDigest)
        } else {
          _ = try vault.consent.refuseRequest(row.id)
        }
      }
    }
    try await exchange([member])
  }

  private func exchange(_ members: [Int]) async throws {
    story.append("\(members) exchange")
    for member in members {
      let changing = circle.vault(member).changing
      if changing.isReplacing { _ = try await changing.regain() } else { try await changing.pursue(id) }
      try giveUpUnsound(member)
    }
    try await office?.round(members)
  }

  /// Two propose without knowing of each other.
  private func fork() async throws {
    let two = holding().prefix(2)
    story.append("\(two) can't hear each other")
    for member in everybody { world.set(.refuses, for: world[member]) }
    for member in two { try await order(by: member) }
    for member in everybody { restoreLine(to: member) }
  }

  private func restoreLine(to member: Int) {
    world.set(isCutOff || away.contains(member) || lost.contains(member) ? .refuses : .none, for: world[member])
  }

  /// Somebody leaves for long, or comes back, or has a bad line.
  private func comeOrGo() {
    if office != nil, Int.random(in: 0..<3, using: &random) == 0 {
      isCutOff.toggle()
      story.append(isCutOff ? "only parcels get through" : "lines are open again")
      return everybody.forEach(restoreLine)
    }
    if let back = away.sorted().randomElement(using: &random), Bool.random(using: &random) {
      story.append("\(back) is back")
      away.remove(back)
      return restoreLine(to: back)
    }
    guard let member = present().first else { return }
    if away.count < 2, Bool.random(using: &random) {
      story.append("\(member) is away")
      away.insert(member)
      return restoreLine(to: member)
    }
    let place = Int.random(in: 0..<6000, using: &random)
    let faults: [Fault] = [.diesAfterSending(place), .diesAfterReceiving(place), .flipsReceived(at: place), .none]
    guard let fault = faults.randomElement(using: &random) else { return }
    story.append("the line to \(member): \(fault)")
    world.set(fault, for: world[member])
  }

  /// Longer than a proposal waits.
  private func passAMonth() async throws {
    story.append("32 days pass")
    world.clock.advance(by: .seconds(32 * 86_400))
    try await exchange(Array(present().prefix(2)))
  }

  private func loseDevice() {
    guard let member = present().first, ledger.bears(member, liar: liar.map(card)) else { return }
    story.append("\(member) is lost")
    ledger.strike(member)
    lost.insert(member)
    restoreLine(to: member)
  }

  /// Whoever has lost a device has another one, and friends put it in the lost one's place.
  private func replaceDevice() async throws {
    let free = present().filter { ledger.held[$0, default: []].isEmpty && !circle.vault($0).changing.isReplacing }
    guard let old = lost.subtracting(replaced).sorted().first, let new = free.first else { return }
    replaced.insert(old)
    let friends = present().filter { $0 != new && Int.random(in: 0..<4, using: &random) > 0 }
    story.append("\(friends) put \(new) in the place of \(old)")
    let device = circle.vault(new)
    let newCard = try PeerCard.parse(text: device.core.ownIdentity().qrText)
    for friend in friends {
      try await allowing([.notFound]) {
        _ = try circle.vault(friend).trust.removePeer(card(new).description)
        _ = try circle.vault(friend).changing.replacePeer(card(old).description, with: newCard)
      }
    }
    try device.changing.setReplacing()
    for friend in friends { _ = try? await device.links.pingPeer(card(friend).description) }
    try await exchange([new])
  }

  private func reopen(_ member: Int) throws {
    try world[member].restart()
    try office?.open(to: member)
  }

  private func copyOrRestore() throws {
    let place = world.scratch.path + "/copy-"
    if let (member, copy) = copies.filter({ honest.contains($0.key) }).min(by: { $0.key < $1.key }) {
      copies[member] = nil
      guard ledger.bears(member, leaving: copy.epochs, liar: liar.map(card)) else { return }
      story.append("\(member) is put back to a copy")
      world[member].vault.close()
      try FileManager.default.removeItem(atPath: home(of: member))
      try FileManager.default.moveItem(atPath: copy.path, toPath: home(of: member))
      try reopen(member)
      return ledger.strike(member, leaving: copy.epochs)
    }
    guard let member = present().first else { return }
    story.append("\(member) is copied")
    world[member].vault.close()
    try FileManager.default.copyItem(atPath: home(of: member), toPath: place + "\(member)-\(story.count)")
    try reopen(member)
    copies[member] = (place + "\(member)-\(story.count)", ledger.held[member] ?? [])
  }

  private func lie() throws {
    guard let liar, let lie = Liar.Lie.allCases.randomElement(using: &random) else { return }
    story.append("\(liar) lies: \(lie)")
    try Liar(member: world[liar], id: id).tell(lie, to: present().map { world[$0] }, &random)
  }

  private func home(of member: Int) -> String { world.scratch.path + "/" + world[member].name }
  private func card(_ member: Int) -> Digest { world[member].vault.core.identity.keys.digest }

  /// What a user may be told is no fault.
  private func allowing(_ codes: Set<VaultError.Code>, _ deed: () async throws -> Void) async throws {
    guard let error = await refusal(deed) else { return }
    if !codes.contains(error.code) { wrong(["\(error.code): \(error)"]) }
    story.append("… which can't be: \(error.reason)")
  }

  // MARK: - What must be true

  /// Looks at every honest device, and at what follows.
  private func look() throws {
    // A device that is lost was honest.
    let cards = Dictionary(uniqueKeysWithValues: everybody.filter { $0 != liar }.map { (card($0), $0) })
    for member in honest.sorted() {
      let circles = circle.vault(member).circles
      try giveUpUnsound(member)
      wrong(try ledger.see(member, circles, id, agreed: agreed[member] ?? [], cards: cards))
      guard let known = try circles.circle(of: id) else { continue }
      let rows = try circle.vault(member).core.database.lifecycle(ofSecret: id).count
      if known.open.count > 10 || known.epochs.count > 32 || rows > 1000 {
        wrong(["\(member) keeps \(known.open.count) proposals, \(known.epochs.count) epochs, \(rows) rows"])
      }
    }
    if ledger.open(to: honest).isEmpty { wrong(["no epoch has as many honest holders as it needs"]) }
  }

  private func wrong(_ words: [String]) {
    for word in words { Issue.record("history \(seed): \(word)\n  \(story.joined(separator: "\n  "))") }
  }

  /// Everybody who lives comes together: the secret is recovered, and nothing opens it that mustn't.
  private func end() async throws {
    story.append("everybody comes together")
    away = []
    isCutOff = false
    for member in everybody { restoreLine(to: member) }
    for _ in 0..<3 {
      world.clock.advance(by: .seconds(7200))
      for member in present() { try await decide(member, alwaysAgrees: true) }
      try look()
    }
    regained = honest.count { circle.vault($0).changing.isReplacing && ledger.held[$0]?.isEmpty == false }
    guard let epoch = ledger.open(to: honest).first,
      let member = honest.sorted().first(where: { ledger.held[$0]?.contains(epoch.digest) == true })
    else { return }
    if try await !recovers(member) { wrong(["\(member) can't recover it by \(epoch.number)"]) }
    wrong(try ledger.mixtures(&random, id))
  }

  /// Older shares are released only when their holders say yes.
  private func recovers(_ member: Int) async throws -> Bool {
    for _ in 0..<3 {
      guard let error = await refusal({ _ = try await circle.recovered(by: member) }) else {
        return try await circle.recovered(by: member)
      }
      story.append("\(member) recovers: \(error.reason)")
      for other in honest.sorted() {
        for request in try circle.vault(other).consent.requests() where request.kind == .release {
          _ = try await circle.vault(other).consent.approveRequest(request.id)
        }
      }
      world.clock.advance(by: .seconds(60))
    }
    return false
  }
}
