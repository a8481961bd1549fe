import Glibc
import Logging
import PeerAuth
import PeerLink
import SecretVault
import ServiceLifecycle

/// The part of the daemon that accepts connections and lets the vault answer them.
struct PeerListener: Service {
  let vault: Vault
  let endpoint: (host: String, port: Int)
  let log: Logger
  let console: Console
  let presence: DaemonPresence

  func run() async throws {
    let descriptors = DescriptorLimit.raise()
    let limits = DescriptorLimit.connections(within: descriptors)
    if limits.total < 256 {
      log.warning("only \(limits.total) connections at a time fit into the limit of \(descriptors) open files")
    }
    let listener: TCPListener
    do throws(TransportError) {
      listener = try await TCPListener.bind(host: endpoint.host, port: endpoint.port, limits: limits)
    } catch {
      throw Self.failure(error, at: endpoint)
    }
    try announce(listener.address)
    await withGracefulShutdownHandler {
      await answer(listener)
    } onGracefulShutdown: {
      Task { await listener.close() }
    }
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
      case .unreachable(let reason), .io(let reason): reason
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

  private func announce(_ address: PeerAddress) throws(VaultError) {
    let text = PeerText.text(address)
    try presence.announce(listening: [text])
    try console.result(["listening on \(text)"], json: ["listening": .string(text)])
    log.info("ready", metadata: ["address": "\(text)"])
    ServiceManager.notify("READY=1")
  }

  private func answer(_ listener: TCPListener) async {
    await withDiscardingTaskGroup { group in
      for await transport in listener.incoming {
        // A flood of handshakes from elsewhere must not make peers wait.
        group.addTask(priority: transport.isFamiliar ? .high : .low) { await vault.answer(transport) }
      }
      // No new ones come; those under way end with the process.
      group.cancelAll()
    }
  }
}

/// The part of the daemon that checks now and then whether the holders of each secret answer.
struct DrillRunner: Service {
  let vault: Vault

  func run() async throws {
    await cancelWhenGracefulShutdown { await vault.runDrills() }
  }
}

/// The part of the daemon that delivers what waits.
struct OutboxRunner: Service {
  let vault: Vault

  func run() async throws {
    await cancelWhenGracefulShutdown { await vault.runOutbox() }
  }
}
