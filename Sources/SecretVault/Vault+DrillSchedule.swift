import VaultProtocol
public import VaultStore

/// Drills that the daemon runs by itself, as often as the setting `check-interval` says.
extension Vault {
  /// Most secrets of one round: the next round begins a moment later.
  private static let roundLimit = 32
  /// Longest time, in milliseconds, over which the first drills are spread.
  private static let firstSpread: Int64 = 600_000

  /// Drills what is due until the task is cancelled: the daemon's part.
  public func runDrills() async {
    let began = environment.now()
    while !Task.isCancelled {
      do { try await drillWhatIsDue(since: began) } catch {
        if !Task.isCancelled { environment.log.error("the secrets could not be checked: \(error.reason)") }
      }
      do { try await environment.sleep(.seconds(2)) } catch { return }
    }
  }

  /// One round. `began` is when the daemon started: secrets that were never drilled are due soon after.
  func drillWhatIsDue(since began: Int64) async throws(VaultError) {
    // Settings that don't verify are no reason to talk to anybody; other commands say what is wrong with them.
    guard let values = try? settingsFile.load(),
      let interval = SettingKey.interval(values[SettingKey.checkInterval.rawValue] ?? "")
    else { return }
    let due = try dueDrills(at: environment.now(), every: interval, since: began)
    guard !due.isEmpty else { return }
    _ = try await drill(Array(due.prefix(Self.roundLimit)), pieces: Self.usualPieceCount, warns: true) { _ in }
  }

  /// Secrets whose drill is due. Each has a moment of its own within the interval, which follows from its id, so that not all
  /// come at once.
  func dueDrills(at now: Int64, every interval: Int64, since began: Int64) throws(VaultError) -> [[UInt8]] {
    let (listing, drills) = try stored { () throws(StoreError) in
      (try database.listing(verifying: false), try database.drills())
    }
    return listing.lines.compactMap { line in
      guard line.ownIndex != 0 else { return nil }
      let id = SecretListing.bytes(line.id)
      let place = Double(line.id.low >> 40) / Double(1 << 24)
      guard let last = drills[id]?.checkedAt else {
        let spread = Double(min(interval / 10, Self.firstSpread))
        return now >= began + Int64(spread * place) ? id : nil
      }
      // A clock that was set back must not put a drill off for ever.
      let isDue = now - last >= Int64(Double(interval) * (0.9 + 0.1 * place)) || last > now
      return isDue ? id : nil
    }
  }

  /// Takes the lock that tells others of a running daemon.
  public func takeDaemonLock(_ facts: DaemonFacts) throws(VaultError) -> DaemonLock {
    let taken = try stored { () throws(StoreError) in try DaemonLock.take(folders, facts) }
    guard let taken else {
      let other = (try? DaemonLock.running(folders))??.facts
      let name = other.map { " (process \($0.process))" } ?? ""
      throw VaultError(
        .other, "another daemon\(name) runs for this vault already",
        hint: "one is enough; see `vault status`")
    }
    return taken
  }
}
