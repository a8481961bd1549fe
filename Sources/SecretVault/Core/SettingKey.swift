/// Every setting, its default, what it accepts and, by ``explanation``, what it means.
package enum SettingKey: String, CaseIterable, Sendable {
  case listen
  case notifyCommand = "notify-command"
  case quotaBytes = "quota-bytes"
  case quotaShares = "quota-shares"
  case keepFree = "keep-free"
  case checkInterval = "check-interval"
  case confirmSharing = "confirm-sharing"
  case confirmTime = "confirm-time"
  case releasePolicy = "release-policy"
  case releaseLimit = "release-limit"
  case agentTimeout = "agent-timeout"
  case clipboardSeconds = "clipboard-seconds"
  case introductions
  case tellHolders = "tell-holders"
  case lan
  case ble
  case bleAdapter = "ble-adapter"
  case bleLimit = "ble-limit"
  case pigeonsOnly = "pigeons-only"
  case readReceipts = "read-receipts"
  case carry
  case carryBytes = "carry-bytes"
  case carryDay = "carry-day"
  case carryPeer = "carry-peer"
  case carryBattery = "carry-battery"
  case carryFairShare = "carry-fair-share"

  package var defaultValue: String {
    switch self {
    case .listen: "[::]:4721"
    case .notifyCommand: ""
    case .quotaBytes: "64G"
    case .quotaShares: "10000"
    case .keepFree: Self.automatic
    case .checkInterval, .confirmSharing, .lan, .ble, .pigeonsOnly, .carryFairShare: Self.off
    case .confirmTime: "60s"
    case .releasePolicy: "auto"
    case .releaseLimit: "0"
    case .agentTimeout: "10m"
    case .clipboardSeconds: "120"
    case .bleAdapter: "all"
    case .bleLimit: "100000"
    case .introductions, .tellHolders, .readReceipts, .carry: Self.on
    case .carryBytes: "64M"
    case .carryDay: "128M"
    case .carryPeer: "16M"
    case .carryBattery: "20"
    }
  }

  /// One sentence.
  package var explanation: String {
    switch self {
    case .listen: "address and port where `vault daemon` waits for peers; off: it answers nobody, and only delivers"
    case .notifyCommand:
      "shell command run when a share is asked for, received, released or refused; the facts come as JSON on its standard input"
    case .quotaBytes:
      "most bytes of file fragments and items kept for one peer, and of items for one group (K, M, G and T are powers of 1024)"
    case .quotaShares: "most shares and items kept for one peer, and items for one group"
    case .keepFree:
      "bytes of the disk that stay free whatever peers, groups and carriers bring (K, M, G and T are powers of 1024); auto: a twentieth of the disk, but no more than 1G"
    case .checkInterval:
      "how often `vault daemon` checks, as `vault check` does, whether the holders of each secret answer: off, or a time such as 12h or 1d"
    case .confirmSharing:
      "on: each share that a peer wants to leave here waits for `vault requests approve`; off: it is kept"
    case .confirmTime: "how long such a share waits before it is refused and discarded, from 5s to 10m"
    case .releasePolicy:
      "what it takes, besides its proof, until a holder gets this device's share: auto, ask (`vault requests`), or delay:2d (unless you refuse); `vault secret policy` says otherwise for one secret"
    case .releaseLimit:
      "most different secrets whose shares one peer gets in a day without being approved; 0 for any number"
    case .agentTimeout:
      "what is unlocked is locked when nobody has used it for so long: a time such as 90s, 10m or 2h; 0 for never"
    case .clipboardSeconds: "seconds after which what was copied to the clipboard is wiped from it (1 to 3600)"
    case .introductions:
      "on: the holders of each secret get one another's cards from whoever shares it, and help each other to recover it; off: this device sends, keeps and uses none of these"
    case .tellHolders:
      "on: the other holders of a secret hear from this device which share it holds, so that each can propose a change in which it stays; off: no signed word of it is given, and a change that isn't proposed here leaves it out; whom this device asks for shares sees the number all the same"
    case .lan:
      "on: peers on the same network are found and reached there without an address, and find this device while `vault daemon` runs; off: nothing is said there, and nobody looked for"
    case .ble:
      "on: peers in the same room are found and reached over Bluetooth LE, too, and find this device while `vault daemon` runs; off: Bluetooth is left alone"
    case .bleAdapter: "the Bluetooth adapter that is used: all, a name such as hci0, or an address"
    case .bleLimit:
      "most bytes of a secret's part, or of an item, that go over Bluetooth (K, M, G and T are powers of 1024)"
    case .pigeonsOnly:
      "on: what is sent from now on goes to its recipient directly or by carriers, and to no server, and no account is connected; off: by all ways"
    case .readReceipts: "on: senders are told when their messages were read here; off: they aren't"
    case .carry: "on: sealed parcels of others are carried to people whom this device meets; off: none is taken"
    case .carryBytes: "most bytes that are carried for others at once (K, M, G and T are powers of 1024)"
    case .carryDay: "most bytes that are taken in a day to be carried for others"
    case .carryPeer: "most bytes that are carried for one peer"
    case .carryBattery: "charge of the battery in percent below which nothing more is taken to be carried; 0 for any"
    case .carryFairShare:
      "off, or ALLOWANCE/PERCENT such as 256M/200: beyond so many bytes no more is carried for others than so many percent of what they have carried"
    }
  }

  /// Throws a usage error unless `value` makes sense for this setting.
  func validate(_ value: String) throws {
    switch self {
    case .listen:
      guard value == Self.off || Self.endpoint(value) != nil else {
        throw VaultError(.usage, "\(rawValue) must be HOST:PORT, [IPv6]:PORT or off, not '\(value)'")
      }
    case .notifyCommand:
      guard value.utf8.count <= 4096 else { throw VaultError(.usage, "\(rawValue) is longer than 4096 bytes") }
    case .quotaBytes:
      guard Self.byteCount(value) != nil else {
        throw VaultError(.usage, "\(rawValue) must be a number of bytes such as 500M or 10G, not '\(value)'")
      }
    case .quotaShares, .releaseLimit: try validate(value, in: 0...1_000_000)
    case .keepFree:
      guard value == Self.automatic || Self.byteCount(value) != nil else {
        throw VaultError(.usage, "\(rawValue) must be auto, or a number of bytes such as 500M or 10G, not '\(value)'")
      }
    case .checkInterval:
      guard value == Self.off || Self.interval(value) != nil else {
        throw VaultError(.usage, "\(rawValue) must be off, or a time from 1m to 365d such as 12h or 1d, not '\(value)'")
      }
    case .bleAdapter:
      guard Self.isAdapter(value) else {
        throw VaultError(
          .usage,
          "\(rawValue) must be all, a name such as hci0, or an address such as 00:11:22:33:44:55, not '\(value)'")
      }
    case .bleLimit:
      guard Self.byteCount(value) != nil else {
        throw VaultError(.usage, "\(rawValue) must be a number of bytes such as 100000 or 1M, not '\(value)'")
      }
    case .carryBytes, .carryDay, .carryPeer:
      guard let count = Self.byteCount(value), count <= Self.carryLimit else {
        throw VaultError(
          .usage, "\(rawValue) must be a number of bytes such as 500K or 64M, at most 1T, not '\(value)'")
      }
    case .carryBattery: try validate(value, in: 0...100)
    case .carryFairShare:
      guard value == Self.off || Self.fairShare(value) != nil else {
        throw VaultError(
          .usage, "\(rawValue) must be off, or bytes and a percentage from 1 to 10000 such as 256M/200, not '\(value)'")
      }
    case .confirmSharing, .introductions, .tellHolders, .lan, .ble, .pigeonsOnly, .readReceipts, .carry:
      guard value == Self.on || value == Self.off else {
        throw VaultError(.usage, "\(rawValue) must be on or off, not '\(value)'")
      }
    case .confirmTime:
      guard let time = DurationText.milliseconds(value), Self.confirmTimes.contains(time) else {
        throw VaultError(.usage, "\(rawValue) must be a time from 5s to 10m, not '\(value)'")
      }
    case .releasePolicy:
      guard ReleasePolicy(value) != nil else {
        throw VaultError(.usage, "\(rawValue) must be auto, ask, or delay: and a time such as delay:2d, not '\(value)'")
      }
    case .agentTimeout:
      guard Self.milliseconds(value) != nil else {
        throw VaultError(
          .usage, "\(rawValue) must be a time of up to 30 days such as 90s, 10m or 2h, or 0, not '\(value)'")
      }
    case .clipboardSeconds: try validate(value, in: 1...3600)
    }
  }

  private func validate(_ value: String, in range: ClosedRange<Int>) throws {
    guard let number = Int(value), range.contains(number) else {
      throw VaultError(
        .usage, "\(rawValue) must be a number from \(range.lowerBound) to \(range.upperBound), not '\(value)'")
    }
  }

  package static let off = "off"
  package static let on = "on"
  static let automatic = "auto"
  /// Milliseconds that a user may have to answer.
  static let confirmTimes: ClosedRange<Int64> = 5000...600_000

  /// Host and port of `HOST:PORT` or `[V6]:PORT`; port 0 lets the system choose. Without brackets, nobody knows where an address of
  /// IPv6 ends.
  package static func endpoint(_ text: String) -> (host: String, port: Int)? {
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
      (0...65535).contains(port)
    else { return nil }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      return nil
    }
    guard !host.isEmpty, host.utf8.count <= 255, host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else { return nil }
    return (String(host), port)
  }

  /// Whether a text names Bluetooth adapters: `all`, `hci0`, or six pairs of hexadecimal digits.
  static func isAdapter(_ text: String) -> Bool {
    func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    if text == "all" { return true }
    if text.hasPrefix("hci") { return (4...7).contains(text.utf8.count) && text.utf8.dropFirst(3).allSatisfy(isDigit) }
    let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    return parts.count == 6
      && parts.allSatisfy { part in
        part.count == 2
          && part.allSatisfy { isDigit($0) || (UInt8(ascii: "A")...UInt8(ascii: "F")).contains($0 & 0xDF) }
      }
  }

  /// Milliseconds of a text such as `90s`, `10m`, `2h`; a bare number is minutes. At most 30 days.
  package static func milliseconds(_ text: String) -> Int64? {
    let unit: Int64? =
      switch text.utf8.last {
      case UInt8(ascii: "s"): 1000
      case UInt8(ascii: "m"): 60_000
      case UInt8(ascii: "h"): 3_600_000
      default: nil
      }
    let digits = unit == nil ? text.utf8[...] : text.utf8.dropLast()
    guard !digits.isEmpty, digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      let number = Int64(String(decoding: digits, as: UTF8.self))
    else { return nil }
    let (product, overflow) = number.multipliedReportingOverflow(by: unit ?? 60_000)
    return overflow || product > 30 * 24 * 3_600_000 ? nil : product
  }

  /// Bytes of a text such as `500M`; powers of 1024.
  static func byteCount(_ text: String) -> UInt64? {
    // By its bytes: as characters, the sign for kelvin is a K, and a ligature of s and t ends in a T.
    let unit: UInt64? =
      switch text.utf8.last {
      case UInt8(ascii: "K"), UInt8(ascii: "k"): 1 << 10
      case UInt8(ascii: "M"), UInt8(ascii: "m"): 1 << 20
      case UInt8(ascii: "G"), UInt8(ascii: "g"): 1 << 30
      case UInt8(ascii: "T"), UInt8(ascii: "t"): 1 << 40
      default: nil
      }
    let digits = unit == nil ? text[...] : text.dropLast()
    guard let number = UInt64(digits) else { return nil }
    let (product, overflow) = number.multipliedReportingOverflow(by: unit ?? 1)
    return overflow ? nil : product
  }

  /// Most bytes that a limit for carrying may be.
  static let carryLimit: UInt64 = 1 << 40

  /// Bytes and percent of a text such as `256M/200`.
  static func fairShare(_ text: String) -> (allowance: UInt64, percent: Int)? {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let allowance = byteCount(String(parts[0])), allowance <= carryLimit,
      let percent = Int(parts[1]), (1...10_000).contains(percent)
    else { return nil }
    return (allowance, percent)
  }

  /// Milliseconds of a text such as `30m`, `12h` or `7d`; a minute to a year.
  static func interval(_ text: String) -> Int64? {
    let unit: Int64? =
      switch text.utf8.last {
      case UInt8(ascii: "m"): 60_000
      case UInt8(ascii: "h"): 3_600_000
      case UInt8(ascii: "d"): 86_400_000
      default: nil
      }
    guard let unit, let number = Int64(text.dropLast()), number > 0, number <= 600_000 else { return nil }
    let milliseconds = number * unit
    return milliseconds <= 365 * 86_400_000 ? milliseconds : nil
  }
}

/// What is set in a settings file.
extension [String: String] {
  func value(of key: SettingKey) -> String { self[key.rawValue] ?? key.defaultValue }
}
