import ShamirKit
import Sodium
import Synchronization
package import VaultStore

/// Drills that the daemon runs by itself, as often as the setting `check-interval` says.
extension Checking {
  /// Most secrets of one round: the next round begins a moment later.
  private static let roundLimit = 32
  /// Longest time, in milliseconds, over which the first drills are spread.
  private static let firstSpread: Int64 = 600_000

  /// Drills what is due until the task is cancelled: the daemon's part.
  package func runDrills() async {
    let began = environment.now()
    while !Task.isCancelled {
      var pause = Duration.seconds(2)
      do { try await drillWhatIsDue(since: began) } catch {
        if !Task.isCancelled { environment.log.error("the secrets could not be checked: \(VaultError(error).reason)") }
        // What is wrong is hardly mended in a moment, and each line of the log takes room.
        pause = .seconds(60)
      }
      do { try await environment.sleep(pause) } catch { return }
    }
  }

  /// One round. `began` is when the daemon started: secrets that were never drilled are due soon after.
  func drillWhatIsDue(since began: Int64) async throws {
    // Settings that don't verify are no reason to talk to anybody; other commands say what is wrong with them.
    guard let values = try? core.settingsFile.load(),
      let interval = SettingKey.interval(values.value(of: .checkInterval))
    else { return }
    let now = environment.now()
    let due = try dueDrills(at: now, every: interval, since: began).filter { !postponedDrills.contains($0, at: now) }
    guard !due.isEmpty else { return }
    let reports = try await drill(
      Array(due.prefix(Self.roundLimit)), pieces: Self.usualPieceCount, warns: true
    ) { _ in }
    for report in reports {
      // What was found is kept only where this device could look at its own share; anything else would be due at once again.
      guard report.own == nil, let problem = report.problem, let id = SecretID(named: report.secret.id) else {
        continue
      }
      environment.log.error("secret \(report.secret.id) could not be checked: \(problem.reason)")
      postponedDrills.postpone(id, from: now, by: min(interval, PostponedDrills.limit))
    }
  }

  /// Secrets whose drill is due, those first that were never drilled, then those whose drill is longest ago. Each has a moment of
  /// its own within the interval, which follows from its id, so that not all come at once.
  func dueDrills(at now: Int64, every interval: Int64, since began: Int64) throws -> [SecretID] {
    let (listing, drills) = (try database.listing(verifying: false), try database.drills())
    var due: [(id: SecretID, last: Int64)] = []
    for line in listing.lines where line.ownIndex != 0 {
      let id = line.id
      let place = Double(line.id.low >> 40) / Double(1 << 24)
      guard let last = drills[id]?.checkedAt else {
        let spread = Double(min(interval / 10, Self.firstSpread))
        if now >= began + Int64(spread * place) { due.append((id, .min)) }
        continue
      }
      // A clock that was set back must not put a drill off for ever.
      if last > now {
        due.append((id, .min))
      } else if now - last >= Int64(Double(interval) * (0.9 + 0.1 * place)) {
        due.append((id, last))
      }
    }
    return due.sorted { $0.last < $1.last }.map(\.id)
  }

  /// The lock tells others of a running daemon.
  package static func takeDaemonLock(_ folders: VaultFolders, _ facts: DaemonFacts) throws -> DaemonLock {
    guard let lock = try DaemonLock.take(folders, facts) else { throw anotherDaemon(folders) }
    return lock
  }

  package static func anotherDaemon(_ folders: VaultFolders) -> VaultError {
    let other = (try? DaemonLock.running(folders))??.facts
    let name = other.map { " (process \($0.process))" } ?? ""
    return VaultError(
      .other, "another daemon\(name) runs for this vault already", hint: "one is enough; see `vault status`")
  }
}

/// Secrets that can't be checked, until when they are left alone: one that fails must neither fill the log nor keep others waiting.
final class PostponedDrills: Sendable {
  /// Milliseconds, at most, after which such a secret is tried again.
  static let limit: Int64 = 3_600_000
  private let times = Mutex<[SecretID: Int64]>([:])

  func postpone(_ id: SecretID, from now: Int64, by milliseconds: Int64) {
    times.withLock { times in
      times = times.filter { Self.holds($0.value, at: now) }
      times[id] = now + milliseconds
    }
  }

  func contains(_ id: SecretID, at now: Int64) -> Bool {
    times.withLock { $0[id].map { Self.holds($0, at: now) } ?? false }
  }

  /// A clock that was set back ends it, too.
  private static func holds(_ end: Int64, at now: Int64) -> Bool { now < end && end <= now + limit }
}
