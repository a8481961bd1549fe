import Concurrency
import Glibc
import Logging
import PeerAuth
import PeerLink
import SecretVault
import ServiceLifecycle

/// The part of the daemon that accepts connections and lets the vault answer them, where the setting says, while it
/// says so.
struct PeerListener: Service {
  let vault: Vault
  /// Where to listen whatever the setting says.
  let fixed: ListenTarget?
  let log: Logger
  let presence: DaemonPresence
  /// Is told where it listens from now on, nil where that is nowhere.
  let announce: @Sendable (String?) throws -> Void

  func run() async throws {
    let descriptors = DescriptorLimit.raise()
    let limits = DescriptorLimit.connections(within: descriptors)
    if limits.total < 256 {
      log.warning("only \(limits.total) connections at a time fit into the limit of \(descriptors) open files")
    }
    let first = try fixed ?? ListenTarget(vault)
    try await cancelWhenGracefulShutdown {
      // At the start a place that can't be had is an error of the command.
      try await serve(first, limits, isFirst: true)
      await follow(first, limits)
    }
  }

  /// Goes where the setting says, until the daemon ends.
  private func follow(_ last: ListenTarget, _ limits: TCPListener.Limits) async {
    var last = last
    while !Task.isCancelled {
      let seen = vault.core.settingsPulse.count
      let target = fixed ?? (try? ListenTarget(vault)) ?? last
      last = target
      do {
        try await serve(target, limits, isFirst: false)
      } catch {
        let words = VaultError(error).reason
        // Whoever offers this device on the network offers it no more.
        try? tell(nil, isFirst: false)
        log.error("\(words); nobody is answered until that is possible, or the setting listen changes")
        try? await vault.core.wait(since: seen, of: vault.core.settingsPulse)
      }
    }
  }

  /// Listens at one place, or not at all, until the setting names another one.
  private func serve(_ target: ListenTarget, _ limits: TCPListener.Limits, isFirst: Bool) async throws {
    var listener: TCPListener?
    if case .at(let host, let port) = target {
      do {
        listener = try await ListeningPlace.bound(host) { (host) async throws(TransportError) in
          try await TCPListener.bind(host: host, port: port, limits: limits)
        }
      } catch {
        throw Self.failure(error, at: (host, port))
      }
    }
    do { try tell(listener?.address, isFirst: isFirst) } catch {
      // Later on, a reader of the output who has gone must not keep peers from being answered.
      if isFirst { throw error }
    }
    let bound = listener
    await withTaskGroup(of: Void.self) { group in
      if let bound { group.addTask { await vault.answerAll(bound.incoming) } }
      group.addTask { await waitForChange(from: target) }
      await group.next()
      // Nobody is answered any more, those included who have a session.
      group.cancelAll()
      await bound?.close()
    }
  }

  /// Returns when the setting says something else, or the task is cancelled. Settings that can't be read change
  /// nothing.
  private func waitForChange(from target: ListenTarget) async {
    try? await vault.core.waitForSettings { fixed != nil || (try? ListenTarget(vault)) ?? target == target }
  }

  /// Why nothing can be listened to there, and what to do about it.
  static func failure(_ error: TransportError, at endpoint: (host: String, port: Int)) -> VaultError {
    let place = "\(endpoint.host.contains(":") ? "[\(endpoint.host)]" : endpoint.host):\(endpoint.port)"
    let start = "cannot listen on \(place): "
    guard hasAddress(endpoint.host) else {
      return VaultError(
        .inputOutput, start + "the name \(endpoint.host) has no address",
        hint: "listen on an address of this device, such as 0.0.0.0:4721 for all of them")
    }
    let reason =
      switch error {
      case .unreachable(let reason), .io(let reason), .lost(let reason): reason
      case .timedOut: "it took too long"
      case .closed: "interrupted"
      }
    return VaultError(.inputOutput, start + reason, hint: hint(reason))
  }

  private static func hint(_ reason: String) -> String {
    let isReason: (Int32) -> Bool = { reason.lowercased() == SystemError.text($0).lowercased() }
    if isReason(EADDRINUSE) { return "is another daemon running? Choose another port with --listen" }
    if isReason(EADDRNOTAVAIL) { return "this device has no such address; 0.0.0.0 stands for all that it has" }
    if isReason(EACCES) { return "choose a port from 1024 on" }
    return "choose another address with --listen"
  }

  private static func hasAddress(_ host: String) -> Bool {
    var found: UnsafeMutablePointer<addrinfo>?
    defer { if let found { freeaddrinfo(found) } }
    return getaddrinfo(host, nil, nil, &found) == 0
  }

  private func tell(_ address: PeerAddress?, isFirst: Bool) throws {
    let text = address?.description
    try presence.announce(listening: text.map { [$0] } ?? [])
    // What an earlier daemon was waiting with; nobody has been answered yet.
    if isFirst { try vault.consent.dropWaitingDeposits() }
    if let address, let card = try? vault.core.ownIdentity().card,
      let problem = ListeningPlace.problem(listening: [address], card: card.addresses)
    {
      log.warning("\(problem)")
    }
    log.info("ready", metadata: ["address": "\(text ?? SettingKey.off)"])
    // Last: whoever has started it in the background reads no further.
    try announce(text)
    let status = "STATUS=" + (text.map { "listening on \($0)" } ?? "not listening")
    ServiceManager.notify(isFirst ? "READY=1\n" + status : status)
  }
}

extension Vault {
  /// Answers connections as they come, until no more do; then those under way end, too.
  func answerAll(_ connections: AsyncStream<any PeerTransport>) async {
    await withDiscardingTaskGroup { group in
      for await transport in connections {
        // A flood of handshakes from elsewhere must not make peers wait.
        group.addTask(priority: transport.isFamiliar ? .high : .low) { await self.answering.answer(transport) }
      }
      group.cancelAll()
    }
  }
}
