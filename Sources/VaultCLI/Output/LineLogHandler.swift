import Logging
import VaultDaemon

/// Writes a log to standard error, one line an event: `2026-11-21T03:15:54.120Z info: message key=value`.
struct LineLogHandler: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel: Logger.Level

  static func logger(level: Logger.Level) -> Logger {
    Logger(label: "vault") { _ in LineLogHandler(logLevel: level) }
  }

  func log(event: LogEvent) {
    Console.complain(
      Self.line(
        at: Clocks.now(), event.level, event.message, metadata.merging(event.metadata ?? [:]) { _, newer in newer }))
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  /// A line without its end; names from peers in it are escaped, so an event can't forge a second one.
  static func line(
    at now: Int64, _ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata
  ) -> String {
    var line = "\(Timestamp.exact(now)) \(level.rawValue): \(Printable.escape("\(message)"))"
    for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
      line += " \(Printable.escape(key))=\(Printable.escape("\(value)", limit: 200))"
    }
    return line
  }
}
