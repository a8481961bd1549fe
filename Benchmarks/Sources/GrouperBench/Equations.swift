/// Section 6.3 of the thesis: how many messages its equations say, and how many are counted.
enum Equations {
  /// A group for one time to live (T).
  struct Scenario: Encodable {
    let name: String
    /// D.
    let devices: Int
    /// U_i, changes of each device.
    let changes: Int
    /// C, confirms of each device.
    let confirms: Int
    /// F, devices that are offline.
    let offline: Int
    /// L/T: the share of the changes that those don't get before they expire.
    let share: Double

    /// UR_i, equation 6.5.
    var resent: Int { Int((Double(changes * offline) * share).rounded()) }
    /// NU_i, equations 6.1 and 6.6.
    var uploads: Int { changes + confirms + resent }
    /// NU, equations 6.2 and 6.7, and ND_i, equations 6.3 and 6.8.
    var allUploads: Int { uploads * devices }
    /// ND, equation 6.4.
    var allDownloads: Int { allUploads * devices }
  }

  struct Row: Encodable {
    let scenario: Scenario
    /// By the equations.
    let expected: [String: Int]
    /// In the simulated group. `taken`: what a device really took from the servers. The thesis counts its own messages, too, as if it
    /// took them, and what was sent again to one device as if all took it.
    let counted: [String: Int]
  }

  static let scenarios = [
    Scenario(name: "case 1", devices: 10, changes: 100, confirms: 1, offline: 0, share: 0),
    Scenario(name: "case 2", devices: 10, changes: 100, confirms: 1, offline: 2, share: 1),
    Scenario(name: "offline half as long", devices: 10, changes: 100, confirms: 1, offline: 2, share: 0.5),
    Scenario(name: "three confirms", devices: 10, changes: 40, confirms: 3, offline: 0, share: 0),
    Scenario(name: "most offline", devices: 10, changes: 20, confirms: 1, offline: 7, share: 1),
    Scenario(name: "three devices", devices: 3, changes: 200, confirms: 2, offline: 1, share: 1),
  ]

  static func run(_ given: Scenario) throws -> Row {
    var group = try SimulatedGroup(given.devices)
    let devices = given.devices
    let lost = UInt64((Double(given.changes) * given.share).rounded())
    group.isMissed = { from, to, sequence in
      sequence <= lost && (to + devices - from) % devices <= given.offline
    }
    for number in 0..<given.changes {
      for place in 0..<devices { try group.write(place, "object \(place) \(number)") }
    }
    try group.step(1000)
    for _ in 0..<given.confirms {
      for place in 0..<devices { group.confirm(place) }
      // Confirm, question and answer, each after the time that a gap is left alone.
      for _ in 0..<4 { try group.step(6000) }
    }
    try group.check()
    // All devices do the same here.
    let one = group.members[0].counts
    return Row(
      scenario: given,
      expected: [
        "resent": given.resent, "uploads": given.uploads, "all uploads": given.allUploads,
        "downloads": given.allUploads, "all downloads": given.allDownloads,
      ],
      counted: [
        "resent": one.resent, "uploads": one.uploads, "all uploads": group.sum { $0.uploads },
        "taken": one.downloads, "own": one.updates + one.confirms, "questions": one.questions, "skips": one.skips,
      ])
  }
}
