import Testing

@testable import VaultDaemon

/// The battery as the kernel tells of it.
@Suite struct BatteryChargeTests {
  /// A folder with these power supplies, and what is read there.
  private func percent(_ supplies: [String: [String: String]]) throws -> Int? {
    let folder = try TestFolder()
    defer { folder.remove() }
    for (name, values) in supplies {
      for (key, value) in values { try folder.write(value + "\n", to: "\(name)/\(key)") }
    }
    return BatteryCharge.percent(in: folder.path)
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

  @Test func `a charge is a line and nothing behind it that is longer than any charge`() throws {
    #expect(try percent(["BAT0": battery("15\n" + String(repeating: "x", count: 60))]) == 15)
    #expect(try percent(["BAT0": battery("15\n" + String(repeating: "x", count: 61))]) == nil)
  }
}
