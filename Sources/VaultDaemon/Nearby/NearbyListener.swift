import Concurrency
import Logging
import PeerAuth
import PeerLink
import SecretVault
import ServiceLifecycle
import VaultStore

/// The part of the daemon that is found over Bluetooth and answers there, while the setting says so. Whatever goes
/// wrong with Bluetooth is told and tried again; the network goes on.
struct NearbyListener: Service {
  let vault: Vault
  let log: Logger
  let presence: DaemonPresence
  /// Finds what the setting `ble-adapter` names; it may wait.
  var find: @Sendable (_ adapters: String) throws(BLEError) -> BLEEquipment = { (adapters) throws(BLEError) in
    try BLEEquipment.find(try BLEAdapterChoice(setting: adapters))
  }

  /// Between two looks at the adapters, while one is missing.
  private static let glance = Duration.seconds(1)
  /// Glances after which it is looked for adapters that have come or gone, or have been switched on or off.
  private static let patience = 4

  func run() async throws {
    await cancelWhenGracefulShutdown {
      while !Task.isCancelled {
        do { try await vault.core.waitForSettings { !vault.core.nearbySettings().isOn } } catch { return }
        await serve(vault.core.nearbySettings())
      }
    }
  }

  private func pause() async { try? await Task.sleep(for: Self.glance) }

  /// Is found and answers until the settings change or the daemon ends.
  private func serve(_ settings: VaultCore.NearbySettings) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        try? await vault.core.waitForSettings {
          let now = vault.core.nearbySettings()
          return now.isOn && now.adapters == settings.adapters
        }
      }
      group.addTask { await keepUp(settings.adapters) }
      await group.next()
      // Nobody is answered any more, those included who have a session.
      group.cancelAll()
    }
    try? presence.announce(bluetooth: nil)
    if !vault.core.nearbySettings().isOn { log.info("Bluetooth is not used any more: the setting ble is off") }
  }

  /// Has an answering task for each adapter, and one advertisement on all of them.
  private func keepUp(_ adapters: String) async {
    await withDiscardingTaskGroup { group in
      var state = NearbyState()
      while !Task.isCancelled {
        let found = await equipment(adapters)
        // That may have taken a while: whoever was told to stop meanwhile shows nothing more.
        guard !Task.isCancelled else { break }
        state.listen(at: found) { listener in group.addTask { await vault.answerAll(listener.incoming) } }
        await state.show(found) { try vault.directory.beaconTag() }
        state.tell(found, log)
        try? presence.announce(bluetooth: state.facts(found))
        // What is still in somebody's hands is free in a moment.
        let glances = state.hasProblem ? 1 : Self.patience
        for _ in 0..<glances where !Task.isCancelled { await pause() }
      }
      await state.end()
      group.cancelAll()
    }
  }

  private func equipment(_ adapters: String) async -> Result<BLEEquipment, BLEError> {
    let find = find
    do {
      return .success(try await WaitingThread.run { () throws(BLEError) in try find(adapters) })
    } catch { return .failure(error) }
  }
}

/// What the daemon does over Bluetooth just now.
private struct NearbyState {
  private var listeners: [UInt16: BLEListener] = [:]
  private var beacon: BLEBeacon?
  private var radio: String?
  /// What was told last, so that nothing is told every few seconds.
  private var told: String?
  private var problem: String?
  private var isShown = false

  /// Listens at the adapters that are there, and no more at others.
  mutating func listen(at found: Result<BLEEquipment, BLEError>, begin: (BLEListener) -> Void) {
    let adapters = (try? found.get().adapters) ?? []
    for (index, listener) in listeners
    where !adapters.contains(where: { $0.address == listener.adapter.address && $0.index == index }) {
      listener.close()
      listeners[index] = nil
    }
    problem = nil
    for adapter in adapters where listeners[adapter.index] == nil {
      do {
        let listener = try BLEListener(adapter)
        listeners[adapter.index] = listener
        begin(listener)
      } catch .unreachable(let reason) {
        problem = "\(adapter.name): \(reason)"
      } catch { problem = "\(adapter.name): \(error)" }
    }
  }

  /// Shows this hour's tag on the adapters that are there.
  mutating func show(_ found: Result<BLEEquipment, BLEError>, tag: () throws -> BeaconTag) async {
    guard case .success(let equipment) = found else {
      await hide()
      if case .failure(let error) = found { problem = "\(error)" }
      return
    }
    let now: BeaconTag
    do { now = try tag() } catch {
      await hide()
      problem = VaultError(error).reason
      return
    }
    let hasEnded = if case .ended? = beacon?.state { true } else { false }
    if case .ended(let error?)? = beacon?.state { problem = "\(error)" }
    let isRight =
      beacon?.tag == now && beacon?.adapters.map(\.index) == equipment.adapters.map(\.index)
      && radio == equipment.radio.name
    if hasEnded || !isRight {
      await hide()
      beacon = BLEBeacon(now, equipment)
      radio = equipment.radio.name
      if beacon == nil { problem = "\(BLEError.outOfResources)" }
      await beacon?.begun()
      if case .ended(let error?)? = beacon?.state { problem = "\(error)" }
    }
    isShown = beacon?.state == .shown
  }

  private mutating func hide() async {
    await beacon?.end()
    beacon = nil
    isShown = false
  }

  var hasProblem: Bool { problem != nil }

  /// Says what has changed.
  mutating func tell(_ found: Result<BLEEquipment, BLEError>, _ log: Logger) {
    let words: String
    if let problem {
      let hint = if case .failure(let error) = found { error.hint } else { nil as String? }
      words = "Bluetooth: \(problem)" + (hint.map { "; \($0)" } ?? "")
    } else {
      let names = listeners.values.map(\.adapter.name).sorted().joined(separator: ", ")
      words = "found and answering over Bluetooth at \(names), by \(radio ?? "?")"
    }
    guard told != words else { return }
    told = words
    if problem != nil { log.warning("\(words)") } else { log.info("\(words)") }
    let exposed = exposed(found)
    if problem == nil, !exposed.isEmpty {
      log.warning(
        "LE privacy is off at \(exposed.joined(separator: ", ")): its fixed address shows everybody in the room which device this is, whatever the tag"
      )
    }
  }

  private func exposed(_ found: Result<BLEEquipment, BLEError>) -> [String] {
    ((try? found.get().adapters) ?? []).filter { !$0.isPrivate }.map(\.name)
  }

  /// For `vault status`.
  func facts(_ found: Result<BLEEquipment, BLEError>) -> BluetoothFacts {
    BluetoothFacts(
      radio: try? found.get().radio.name, adapters: listeners.values.map(\.adapter.name).sorted(),
      exposed: exposed(found), isShown: isShown, problem: problem)
  }

  mutating func end() async {
    for listener in listeners.values { listener.close() }
    listeners = [:]
    await hide()
  }
}
