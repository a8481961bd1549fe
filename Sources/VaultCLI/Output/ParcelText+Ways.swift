import SecretVault
import VaultGroups
import VaultXMPP

extension ParcelText {
  /// With the names that these deliveries need.
  init(_ deliveries: [Delivery], _ vault: Vault) async {
    let isNeeded = deliveries.contains { $0.onItsWay?.folder.isEmpty == false }
    let groups = isNeeded ? (try? await VaultGroups(vault).list()) ?? [] : []
    self.init(names: Dictionary(groups.map { ($0.id, $0.name) }) { first, _ in first })
  }

  // MARK: - The end of a command that shares

  /// Prints the ids of what was shared, then hands what is undelivered to the account and to groups, and says of each share which way it
  /// goes. With JSON it is printed when that is known.
  static func conclude(
    _ reports: [ShareReport], for what: String, _ vault: Vault, _ console: Console,
    json: ([ShareReport], ParcelText) -> JSONValue
  ) async throws {
    if !console.json { try console.result(reports.map(\.id), json: .null) }
    var (newer, text) = (reports, ParcelText())
    if reports.contains(where: { !$0.isFinished }) {
      // Nothing of this fails the command: the daemon, or `vault group sync`, does what isn't done here.
      do throws(VaultError) { (newer, text) = try await hand(reports, for: what, vault, console) } catch {
        console.warning("what waits can't go another way just now: \(error.reason)")
      }
    }
    if console.json { try console.result(json(newer, text)) }
  }

  private static func hand(
    _ reports: [ShareReport], for what: String, _ vault: Vault, _ console: Console
  ) async throws(VaultError) -> ([ShareReport], ParcelText) {
    try await handToAccount(vault, console)
    let handovers = try await VaultGroups(vault).handParcels(for: what)
    var newer: [ShareReport] = []
    for report in reports { newer.append(try vault.refreshed(report)) }
    let text = await ParcelText(newer.flatMap(\.deliveries), vault)
    for report in newer {
      let secret = newer.count > 1 ? " of " + ShareReporter.name(report.description, id: report.id) : ""
      for delivery in report.deliveries where delivery.state != .delivered {
        guard let way = delivery.onItsWay else { continue }
        console.note("share \(delivery.index)\(secret) is \(text.short(way, to: delivery.peer))")
      }
    }
    for handover in handovers where handover.unsent > 0 {
      console.note(
        "too few servers of \(handover.group.name) are there just now; what waits is sent by 'vault daemon', or by 'vault group sync'"
      )
    }
    return (newer, text)
  }

  /// A daemon would do it by itself. What the server doesn't get now stays, for the next look at it, and for other ways.
  private static func handToAccount(_ vault: Vault, _ console: Console) async throws(VaultError) {
    let now = vault.surroundings.now()
    guard try vault.needsAccountRound(), try !vault.outgoingRecords(way: .account, at: now).isEmpty else { return }
    let report = await AccountRound.run(vault, limit: MessageDelivery.patience)
    if let problem = report.problem {
      console.warning("what waits can't go through the account just now: \(problem.reason)")
    }
  }
}
