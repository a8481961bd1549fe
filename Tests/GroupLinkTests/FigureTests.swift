import Foundation
import Testing

/// The thesis's figures of reliable messages and of f(2, 4, 3), on real servers that are killed on the way.
@Suite(.serialized, .timeLimit(.minutes(5))) struct FigureTests {
  @Test func `figure 4-2: what has expired meanwhile comes after a confirm`() async throws {
    let servers = try (0..<3).map { _ in try ServerProcess(secondsAhead: 0) }
    let group = try await RealGroup(2, on: servers.map(\.address), threshold: 2, sufficient: 3)
    let (sender, receiver) = (group.members[0], group.members[1])
    for number in 1...2 { try await sender.write("object \(number)", "update \(number)") }
    _ = try await sender.grouper.sync()
    _ = try await receiver.grouper.sync()
    let first = ["object 1": "update 1", "object 2": "update 2"]
    #expect(try receiver.texts() == first)

    // The receiver is offline. What the servers have is durable, and then its time is over.
    for number in 3...5 { try await sender.write("object \(number)", "update \(number)") }
    _ = try await sender.grouper.sync()
    #expect(try await sender.grouper.status().outbox.parcels == 0)
    for server in servers {
      server.kill()
      try server.setClock(ahead: 3601)
      try server.start()
    }
    for member in group.members { member.log.advance(seconds: 3601) }
    let report = try await receiver.grouper.receiver.receive()
    #expect(report.success && report.answered == 3 && report.changes.isEmpty && report.missing == 0)
    #expect(try receiver.texts() == first)

    // confirm(5), resend(3…5), and the three updates.
    try await sender.grouper.sender.confirm()
    _ = try await sender.grouper.sync()
    #expect(try await receiver.grouper.receiver.receive().missing == 3)
    try await group.settle(rounds: 4)
    #expect(try receiver.texts() == sender.texts())
    #expect(try receiver.texts().count == 5)
  }

  @Test func `figure 4-3: of four servers three take a share, and two of them give the message back`() async throws {
    let servers = try (0..<4).map { _ in try ServerProcess() }
    let group = try await RealGroup(3, on: servers.map(\.address), threshold: 2, sufficient: 3)
    let (sender, receiver, late) = (group.members[0], group.members[1], group.members[2])
    servers[3].kill()
    try await sender.write("object", "of the figure")
    _ = try await sender.grouper.sync()
    var outbox = try await sender.grouper.status().outbox
    #expect(outbox.unsent == 0 && outbox.parcels == 1)

    servers[0].kill()
    let report = try await receiver.grouper.sync()
    #expect(report.success && report.answered == 2 && report.needed == 2)
    #expect(try receiver.texts() == ["object": "of the figure"])

    // The fourth gets its share when it is back; the first still has what it acknowledged before it was killed.
    try servers[0].start()
    try servers[3].start()
    _ = try await sender.grouper.sync()
    outbox = try await sender.grouper.status().outbox
    #expect(outbox.unsent == 0 && outbox.parcels == 0)
    servers[1].kill()
    servers[2].kill()
    #expect(try await late.grouper.sync().answered == 2)
    #expect(try late.texts() == ["object": "of the figure"])
  }

  @Test func `below s a message isn't sent, and below k nothing is received`() async throws {
    let servers = try (0..<4).map { _ in try ServerProcess() }
    let group = try await RealGroup(2, on: servers.map(\.address), threshold: 2, sufficient: 3)
    let (sender, receiver) = (group.members[0], group.members[1])
    for server in servers[2...] { server.kill() }
    try await sender.write("object", "late")
    _ = try await sender.grouper.sync()
    #expect(try await sender.grouper.status().outbox.unsent > 0)
    servers[1].kill()
    let report = try await receiver.grouper.receiver.receive()
    #expect(!report.success && report.answered == 1 && report.changes.isEmpty)
    for server in servers[1...] { try server.start() }
    try await group.settle()
    #expect(try await sender.grouper.status().outbox.unsent == 0)
    #expect(try receiver.texts() == ["object": "late"])
  }
}
