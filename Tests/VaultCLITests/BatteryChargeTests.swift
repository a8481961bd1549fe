import Glibc
import Testing

@testable import VaultCLI

/// The battery as the kernel tells of it.
@Suite struct BatteryChargeTests {
  /// A folder with these power supplies, and what is read there.
  private func percent(_ supplies: [String: [String: String]]) throws -> Int? {
    var template = Array("/tmp/battery-XXXXXX".utf8CString)
    let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
    var paths = [folder]
    defer { for path in paths.reversed() where unlink(path) != 0 { rmdir(path) } }
    for (name, values) in supplies {
      let place = folder + "/" + name
      try #require(mkdir(place, 0o700) == 0)
      paths.append(place)
      for (key, value) in values {
        let file = try #require(fopen(place + "/" + key, "w"))
        fputs(value + "\n", file)
        fclose(file)
        paths.append(place + "/" + key)
      }
    }
    return BatteryCharge.percent(in: folder)
  }

  private func battery(_ capacity: String, _ status: String = "Discharging") -> [String: String] {
    ["type": "Battery", "status": status, "capacity": capacity]
  }

  @Test func `the emptiest battery counts`() throws {
    #expect(try percent(["BAT0": battery("80"), "BAT1": battery("15"), "AC": ["type": "Mains", "online": "0"]]) == 15)
  }

  @Test func `on mains, and while it is charged, no battery counts`() throws {
    #expect(try percent(["BAT0": battery("5"), "AC": ["type": "Mains", "online": "1"]]) == nil)
    #expect(try percent(["BAT0": battery("5", "Charging")]) == nil)
  }

  @Test func `a machine without one has none, and a mouse's isn't its own`() throws {
    #expect(try percent([:]) == nil)
    #expect(BatteryCharge.percent(in: "/nonexistent") == nil)
    #expect(try percent(["hid": battery("3").merging(["scope": "Device"]) { $1 }]) == nil)
  }

  @Test(arguments: ["", "101", "-1", "x", "99999999999999999999"])
  func `what makes no sense is no charge`(capacity: String) throws {
    #expect(try percent(["BAT0": battery(capacity)]) == nil)
  }
}
