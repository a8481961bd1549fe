import VaultDaemon

/// What is unlocked and until when, for people and as JSON.
struct UnlockedList {
  struct Line {
    /// The secret's id; nil for the vault itself.
    let id: String?
    let description: String?
    /// Milliseconds since 1970 when it is locked if nobody uses it; nil if only locking ends it.
    let end: Int64?
    private let now: Int64

    /// `remaining` in milliseconds, 0 if only locking ends it; nil if it isn't known, because it is over already.
    init(id: String?, description: String?, remaining: UInt64?, now: Int64) {
      self.id = id
      self.description = description
      self.now = now
      let left = Int64(clamping: remaining ?? 1)
      end = left == 0 ? nil : now + min(left, 366 * 86_400_000)
    }

    /// `until 2026-11-21 03:15 UTC, and longer if it is used`, or that only locking ends it.
    var until: String { "until \(time)" }

    fileprivate var time: String {
      end.map { "\(Timestamp.minute($0)), and longer if it is used" } ?? "it is locked"
    }

    fileprivate var endJSON: JSONValue { JSONValue(end.map { Timestamp.exact($0) }) }

    var json: JSONValue {
      ["id": JSONValue(id), "description": JSONValue(description), "until": endJSON]
    }
  }

  /// The vault itself; nil if it has no passphrase, or none is kept.
  let vault: Line?
  private let hasPassphrase: Bool
  private let timeout: UInt64
  private let secrets: [Line]

  init(_ status: AgentStatus, descriptions: [String: String], hasPassphrase: Bool, now: Int64) {
    self.hasPassphrase = hasPassphrase
    timeout = status.timeout
    vault =
      hasPassphrase
      ? status.passphrase.map { Line(id: nil, description: nil, remaining: $0, now: now) } : nil
    secrets = status.secrets.map {
      Line(id: $0.id.description, description: descriptions[$0.id.description], remaining: $0.remaining, now: now)
    }
  }

  var lines: [String] {
    var table = TextTable("UNLOCKED", "DESCRIPTION", "UNTIL")
    if let vault { table.add("the vault", "", vault.time) }
    for line in secrets { table.add(String((line.id ?? "").prefix(12)), line.description ?? "-", line.time) }
    return vault == nil && secrets.isEmpty ? ["nothing is unlocked"] : table.lines
  }

  /// The vault: null without a passphrase.
  var vaultJSON: JSONValue {
    guard hasPassphrase else { return .null }
    return ["unlocked": .bool(vault != nil), "until": vault?.endJSON ?? .null]
  }

  var json: JSONValue {
    [
      "vault": vaultJSON, "timeoutSeconds": JSONValue(timeout / 1000), "secrets": .array(secrets.map(\.json)),
    ]
  }
}
