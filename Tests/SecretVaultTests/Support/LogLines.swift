import Logging
import TestTime

@testable import SecretVault

extension Member {
  /// The same vault in an object whose program's log a test reads.
  func logged() throws -> (vault: Vault, lines: Collected<String>) {
    let lines = Collected<String>()
    var environment = environment
    environment.log = Logger(label: "test") { _ in LineCollector(lines: lines) }
    let vault = try Vault.open(
      at: folders, passphrase: { throw VaultError(.wrongPassphrase, "none is needed") }, environment: environment)
    Happenings.watch(vault)
    return (vault, lines)
  }
}

private struct LineCollector: LogHandler {
  let lines: Collected<String>
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.info

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(
    level: Logger.Level, message: Logger.Message, metadata: Logger.Metadata?, source: String, file: String,
    function: String, line: UInt
  ) { lines.add("\(message)") }
}
