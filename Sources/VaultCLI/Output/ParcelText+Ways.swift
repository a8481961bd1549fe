import ArgumentParser
import SecretVault
import VaultGroups
import VaultXMPP

extension ParcelText {
  /// With the names that these deliveries need.
  init(_ deliveries: [Delivery], _ vault: Vault) async {
    let isNeeded = deliveries.contains { ($0.onItsWay ?? $0.probe)?.folder.isEmpty == false }
    let groups = isNeeded ? (try? await VaultGroups(vault).list()) ?? [] : []
    self.init(names: Dictionary(groups.map { ($0.id, $0.name) }) { first, _ in first })
  }

  // MARK: - The end of a command that shares

  /// Hands what is undelivered to the account and to groups, says of each share which way it goes, and ends with the code of
  /// what came of it. The id was printed when there was one; with JSON the result is, when that is known.
  static func conclude(
    _ report: ShareReport, for what: String, _ vault: Vault, _ console: Console, _ watch: SharingWatch,
    json: (ShareReport, ParcelText) -> JSONValue
  ) async throws {
    if !console.json { try watch.printID(report.id) }
    let (newer, text) = await handed([report], for: what, vault, console)
    watch.end()
    if console.json { try console.result(json(newer[0], text)) }
    try end(with: ExitCodes.code(of: report))
  }

  /// The same for those that were shared before. Prints their ids.
  static func conclude(
    _ reports: [ShareReport], for what: String, _ vault: Vault, _ console: Console,
    json: ([ShareReport], ParcelText) -> JSONValue
  ) async throws {
    if !console.json { try console.result(reports.map(\.id), json: .null) }
    let (newer, text) = await handed(reports, for: what, vault, console)
    if console.json { try console.result(json(newer, text)) }
    try end(with: ExitCodes.code(of: reports))
  }

  private static func end(with code: Int32) throws {
    if code != ExitCodes.done { throw ExitCode(code) }
  }

  private static func handed(
    _ reports: [ShareReport], for what: String, _ vault: Vault, _ console: Console
  ) async -> ([ShareReport], ParcelText) {
    if reports.contains(where: { !$0.isFinished }) {
      // Nothing of this fails the command: the daemon, or `vault group sync`, does what isn't done here.
      do { return try await hand(reports, for: what, vault, console) } catch {
        console.warning("what waits can't go another way just now: \(VaultError(error).reason)")
      }
    }
    return (reports, ParcelText())
  }

  private static func hand(
    _ reports: [ShareReport], for what: String, _ vault: Vault, _ console: Console
  ) async throws -> ([ShareReport], ParcelText) {
    try await handToAccount(vault, console)
    let handovers = try await VaultGroups(vault).handParcels(for: what)
    var newer: [ShareReport] = []
    for report in reports { newer.append(try vault.sharing.refreshed(report)) }
    let text = await ParcelText(newer.flatMap(\.deliveries), vault)
    for report in newer {
      let secret = newer.count > 1 ? " of " + ShareReporter.name(report.description, id: report.id) : ""
      for delivery in report.deliveries where delivery.state != .delivered {
        let share = "share \(delivery.index)\(secret)"
        if let way = delivery.onItsWay {
          console.note("\(share) is \(text.short(way, to: delivery.peer))")
        } else if let way = delivery.probe {
          console.note(
            "\(share) goes once \(delivery.peer) has proved its keys: a question about them is \(text.short(way))")
        }
      }
    }
    for handover in handovers {
      GroupSync.tellOfUnsent(handover.group, handover.unsent, handover.faults, console)
    }
    return (newer, text)
  }

  /// A daemon would do it by itself. What the server doesn't get now stays, for the next look at it, and for other ways.
  private static func handToAccount(_ vault: Vault, _ console: Console) async throws {
    let now = vault.core.surroundings.now()
    guard try vault.accounts.needsAccountRound(), try !vault.post.outgoingRecords(way: .account, at: now).isEmpty else {
      return
    }
    let report = await AccountRound.run(vault, limit: MessageDelivery.patience)
    if let problem = report.problem {
      console.warning("what waits can't go through the account just now: \(problem.reason)")
    }
  }
}
