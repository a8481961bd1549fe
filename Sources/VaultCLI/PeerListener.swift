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

  func run() async throws {
    let listener: TCPListener
    do throws(TransportError) {
      listener = try await TCPListener.bind(host: endpoint.host, port: endpoint.port)
    } catch {
      let place = "\(endpoint.host.contains(":") ? "[\(endpoint.host)]" : endpoint.host):\(endpoint.port)"
      throw VaultError(
        .inputOutput, "cannot listen on \(place): \(Self.words(error))",
        hint: "is another daemon running? Choose another port with --listen")
    }
    try announce(listener.address)
    await withGracefulShutdownHandler {
      await answer(listener)
    } onGracefulShutdown: {
      Task { await listener.close() }
    }
  }

  private static func words(_ error: TransportError) -> String {
    switch error {
    case .unreachable(let reason), .io(let reason): reason
    case .timedOut: "it took too long"
    case .closed: "interrupted"
    }
  }

  private func announce(_ address: PeerAddress) throws(VaultError) {
    let text = PeerText.text(address)
    try console.result(["listening on \(text)"], json: ["listening": .string(text)])
    log.info("ready", metadata: ["address": "\(text)"])
    ServiceManager.notify("READY=1")
  }

  private func answer(_ listener: TCPListener) async {
    await withDiscardingTaskGroup { group in
      for await transport in listener.incoming {
        group.addTask { await vault.answer(transport) }
      }
      // No new ones come; those under way end with the process.
      group.cancelAll()
    }
  }
}

/// The part of the daemon that delivers what waits.
struct OutboxRunner: Service {
  let vault: Vault

  func run() async throws {
    await cancelWhenGracefulShutdown { await vault.runOutbox() }
  }
}
