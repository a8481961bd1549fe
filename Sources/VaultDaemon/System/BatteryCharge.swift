import Glibc
import VaultStore

/// The charge of this machine's battery, as the kernel tells it below `/sys/class/power_supply`
/// (Documentation/ABI/testing/sysfs-class-power of Linux).
package enum BatteryCharge {
  package static let folder = "/sys/class/power_supply"
  private static let supplyLimit = 64
  private static let valueLimit = 64

  /// Nil if there is no battery, nothing is known of it, or the machine isn't running on it. Of several the emptiest
  /// counts.
  package static func percent(in folder: String = folder) -> Int? {
    var least: Int?
    for supply in ((try? FileNames.list(folder)) ?? []).filter({ !$0.hasPrefix(".") }).sorted().prefix(supplyLimit) {
      let place = folder + "/" + supply
      switch value(place, "type") {
      // A mouse has a battery, too.
      case "Battery" where value(place, "scope") != "Device":
        guard value(place, "status") == "Discharging", let text = value(place, "capacity"), let percent = Int(text),
          (0...100).contains(percent)
        else { continue }
        least = min(least ?? percent, percent)
      case "Mains", "USB": if value(place, "online") == "1" { return nil }
      default: continue
      }
    }
    return least
  }

  private static func value(_ place: String, _ name: String) -> String? {
    let descriptor = open(place + "/" + name, O_RDONLY | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var count = 0
    // One byte more tells what is too long. The kernel gives a value whole.
    let bytes = [UInt8](unsafeUninitializedCapacity: valueLimit + 1) { buffer, filled in
      count = read(descriptor, buffer.baseAddress, buffer.count)
      filled = max(0, count)
    }
    guard (0...valueLimit).contains(count) else { return nil }
    return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
  }
}
