import Concurrency
import LocalNames
import Logging
import PeerAuth
import PeerLink
import SecretVault
import ServiceLifecycle
import Synchronization

/// The part of the daemon that is found on the networks of this device, and hears of peers there, while the setting says so.
struct LocalListener: Service {
  let vault: Vault
  let dialler: LocalDialler
  let log: Logger
  let presence: DaemonPresence

  /// Between two looks whether the offer is the hour's still, however much changes.
  private static let leastPause = Duration.seconds(2)
  /// Before it is tried again where nobody could look.
  private static let pause = Duration.seconds(10)

  /// What this device offers; a new one begins anew.
  private struct Wish: Hashable {
    /// Nil: it only looks for others.
    var tag: BeaconTag?
    var port: UInt16 = 0
  }

  func run() async throws {
    await cancelWhenGracefulShutdown {
      let told = Told(log)
      while !Task.isCancelled {
        do { try await vault.core.waitForSettings { !vault.core.usesLocalNetwork } } catch { return }
        let seen = presence.listeningPulse.count
        guard let wish = wish() else {
          try? await presence.listeningPulse.wait(since: seen)
          continue
        }
        guard let problem = await serve(wish, since: seen, told) else { continue }
        told.say(problem)
        try? await Task.sleep(for: Self.pause)
      }
    }
  }

  /// What is to be offered now; nil for nothing at all: not even a question is sent by who keeps to this machine, or may yet.
  private func wish() -> Wish? {
    guard let listening = presence.listening else { return nil }
    let places = listening.compactMap { try? PeerAddress(parsing: $0) }
    guard !places.isEmpty else { return Wish() }
    guard let place = places.first(where: { !ListeningPlace.isLoopback($0.host) }) else { return nil }
    guard let tag = try? vault.directory.beaconTag(), let port = UInt16(exactly: place.port) else { return Wish() }
    return Wish(tag: tag, port: port)
  }

  /// Is found and looks until something else is wished, the setting changes, or the daemon ends. Returns why it can't.
  private func serve(_ wish: Wish, since seen: UInt64, _ told: Told) async -> LocalNamesError? {
    guard let stop = StopSignal() else { return .failed("this process has no descriptors left") }
    let offer = wish.tag.map { LocalOffer(port: wish.port, texts: LocalTag.texts($0)) }
    return await withTaskGroup(of: LocalNamesError?.self) { group in
      group.addTask {
        await WaitingThread.runAlone { [dialler] () -> LocalNamesError? in
          do throws(LocalNamesError) {
            try dialler.look(offer: offer, until: stop) { told.say(isFound: offer != nil, by: $0) }
            return nil
          } catch { return error }
        } ?? .failed("no thread is left")
      }
      group.addTask {
        while !Task.isCancelled, vault.core.usesLocalNetwork, self.wish() == wish {
          let seen = vault.core.pulse.count
          try? await Task.sleep(for: Self.leastPause)
          try? await vault.core.wait(since: seen)
        }
        stop.raise()
        return nil
      }
      group.addTask {
        try? await presence.listeningPulse.wait(since: seen)
        stop.raise()
        return nil
      }
      var problem: LocalNamesError?
      for await outcome in group {
        problem = problem ?? outcome
        group.cancelAll()
      }
      return problem
    }
  }

  /// Says what has changed, and nothing each hour.
  private final class Told: Sendable {
    private let log: Logger
    private let last = Mutex("")

    init(_ log: Logger) { self.log = log }

    func say(isFound: Bool, by way: String) {
      let words = isFound ? "peers on the same network find this device" : "peers on the same network are looked for"
      if isNew(words + way) { log.info("\(words), by \(way)") }
    }

    /// Without a network there is nobody to be found by.
    func say(_ problem: LocalNamesError) {
      if isNew("\(problem)"), problem != .noNetwork {
        log.warning("peers on the same network aren't found: \(problem)")
      }
    }

    private func isNew(_ words: String) -> Bool {
      last.withLock { last in
        defer { last = words }
        return last != words
      }
    }
  }
}
