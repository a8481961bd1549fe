import MemoryScan
import Sodium
import Testing

@testable import Grouper

/// What is left in memory, the heap's freed parts and all stacks included, outside of `SecretBytes`.
@Suite struct MemoryTests {
  @Test func afterAGroupWasMadeUsedAndRenewedMemoryHoldsNoKey() async throws {
    let world = try World()
    var needles = Needles()
    do {
      let devices = try await world.group(3)
      for (number, device) in devices.enumerated() { try await device.write("n\(number)", "text") }
      try await world.settle(devices)
      for device in devices { try await add(device, "before", to: &needles) }
      // One goes: new keys for the group and on every server, sealed to those who stay.
      let node = try #require(await devices[2].grouper.ownCard).node
      try await devices[0].grouper.remove(node)
      try await world.settle(Array(devices[..<2]), rounds: 6)
      try await devices[1].write("after", "text")
      try await world.settle(Array(devices[..<2]))
      #expect(try devices[0].text("after") == "text")
      #expect(try await devices[1].grouper.status().epoch == 2)
      for device in devices[..<2] { try await add(device, "after", to: &needles) }
    }
    // And again out of the database.
    let again = try await world.device("owner")
    #expect(try await again.grouper.sync().success)
    let found = try ProcessMemory.own.search(for: needles)
    #expect(found.summary == [], "\(found.findings)")
    // It has looked somewhere, and left out no more than what SecretBytes takes.
    #expect(found.scanned > 1 << 20 && found.leftOut > 0)
  }

  /// All keys that a device has.
  private func add(_ device: Device, _ time: String, to needles: inout Needles) async throws {
    let state = try #require(await device.grouper.state)
    let whose = "\(device.name)'s, \(time) the renewal"
    state.keys.seed.withUnsafeBytes { needles.add("signing key, \(whose)", $0) }
    state.keys.boxSecret.withUnsafeBytes { needles.add("key of sealed boxes, \(whose)", $0) }
    for epoch in state.epochs {
      epoch.key.secret.withUnsafeBytes { needles.add("the group's key, \(whose)", $0) }
      epoch.key.blobKey.withUnsafeBytes { needles.add("the key of blobs, \(whose)", $0) }
    }
    for link in state.links {
      link.accessKey.secret.withUnsafeBytes { needles.add("access key, \(whose)", $0) }
      if let master = link.masterKey { master.secret.withUnsafeBytes { needles.add("master key, \(whose)", $0) } }
      if let next = link.nextAccessKey { next.secret.withUnsafeBytes { needles.add("next access key, \(whose)", $0) } }
    }
  }
}
