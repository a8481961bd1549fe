import Testing
import WireCodec

@testable import Courier

@Suite struct StoredTests {
  @Test func `a device goes on where it was when it is read back`() throws {
    var town = try Town(10, seed: 4)
    try town.live(meetings: 200, parcels: 40)
    for number in 0..<9 { try town.send(from: 0, to: 1 + number, at: start + 2 * day) }
    var other = town
    other.devices = try town.devices.map { try .decode($0.encoded(), limit: Courier.byteLimit) }
    for meeting in 0..<60 {
      try town.meet(meeting % 10, (meeting + 3) % 10, at: start + 2 * day + Int64(meeting) * hour)
      try other.meet(meeting % 10, (meeting + 3) % 10, at: start + 2 * day + Int64(meeting) * hour)
    }
    #expect(town.given.count > 0)
    #expect(town.given.map(\.id) == other.given.map(\.id))
    #expect(town.arrivals == other.arrivals)
  }
}
