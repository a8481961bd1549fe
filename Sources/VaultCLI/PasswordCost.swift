import SecretVault
import Sodium
import VaultDaemon

/// What a try of a password costs on this machine: time, which is measured, and memory.
enum PasswordCost {
  /// The cost when nobody chooses.
  static let usualLogarithm = 16

  /// Milliseconds of one derivation at the smallest cost, just now. Time grows with N.
  static func measure() throws -> Double {
    let smallest = Scrypt.acceptedLogarithms.lowerBound
    try checkRoom(logarithm: smallest)
    let start = Clocks.monotonic()
    do {
      let password = try SecretBytes(zeros: 16)
      let salt = [UInt8](repeating: 0, count: Scrypt.saltByteCount)
      _ = try Scrypt.deriveKey(password: password.bytes, salt: salt, logarithm: smallest)
    } catch {
      throw VaultError(.other, "there is not enough memory for a password's key")
    }
    return Clocks.monotonic() - start
  }

  /// What a chosen cost means, in words.
  static func explanation(logarithm: Int) throws -> String {
    sentence(logarithm: logarithm, smallest: try measure())
  }

  /// The same from a measured time.
  static func sentence(logarithm: Int, smallest: Double) -> String {
    let chosen = "cost \(logarithm), N = \(1 << logarithm)"
    let others = [15, 16].filter { $0 != logarithm }.map { other in
      "\(time(other, smallest)) with --password-cost \(other) (N = \(1 << other))"
    }
    return "each try of the password takes about \(time(logarithm, smallest)) and \(memory(logarithm)) on this machine"
      + " (\(chosen)); it would be \(others.joined(separator: ", "))"
  }

  /// A cost with its time and memory, to choose from a list.
  static func line(logarithm: Int, smallest: Double) -> String {
    "N = \(1 << logarithm): about \(time(logarithm, smallest)) and \(memory(logarithm)) a try"
  }

  private static func time(_ logarithm: Int, _ smallest: Double) -> String {
    let steps = logarithm - Scrypt.acceptedLogarithms.lowerBound
    return Measures.decimal(smallest * Double(1 << max(0, steps)) / 1000, digits: 2) + " s"
  }

  private static func memory(_ logarithm: Int) -> String {
    "\(Scrypt.memoryByteCount(logarithm: logarithm) >> 20) MiB"
  }

  /// Refuses a cost for which this machine has too little memory left, before any is taken: without this, the system would
  /// end some program or other.
  static func checkRoom(logarithm: Int) throws {
    let needed = Scrypt.memoryByteCount(logarithm: logarithm)
    guard let room = MemoryRoom.available, room < needed else { return }
    throw VaultError(
      .other,
      "a try of this password takes \(needed >> 20) MiB of memory, and \(room >> 20) MiB are left on this device",
      hint: "end other programs first, or do it on a device with more memory")
  }
}

/// How much memory may still be taken.
enum MemoryRoom {
  /// Bytes, by the system and by the limit of this process's control group; nil if neither says.
  static var available: UInt64? {
    let system = contents("/proc/meminfo").flatMap { availableInSystem($0) }
    let group = limitOfGroup(
      limit: contents("/sys/fs/cgroup/memory.max"), used: contents("/sys/fs/cgroup/memory.current"))
    return [system, group].compactMap { $0 }.min()
  }

  /// `MemAvailable` of `/proc/meminfo`.
  static func availableInSystem(_ text: String) -> UInt64? {
    for line in text.split(separator: "\n") where line.hasPrefix("MemAvailable:") {
      let words = line.split(separator: " ")
      guard words.count == 3, let kibibytes = UInt64(words[1]), kibibytes < 1 << 50 else { return nil }
      return kibibytes << 10
    }
    return nil
  }

  /// What a limit leaves; nil without one.
  static func limitOfGroup(limit: String?, used: String?) -> UInt64? {
    func number(_ text: String?) -> UInt64? { text.flatMap { UInt64($0.split(separator: "\n").first ?? "") } }
    guard let limit = number(limit), let used = number(used) else { return nil }
    return limit > used ? limit - used : 0
  }

  private static func contents(_ path: String) -> String? {
    guard let bytes = try? PublicFile.read(path: path, limit: 1 << 16) else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }
}
