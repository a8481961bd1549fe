import Foundation
import Grouper

/// Messages from one device to others over real servers.
enum Transfers {
  struct Row: Encodable {
    let servers, threshold, sufficient, messages: Int
    /// Each round's, in order.
    let upload, download: [MeasuredGroup.Parts]
    /// Bytes of one share.
    let shareBytes: Int
    /// Bytes of the signed message that one object of that many bytes makes.
    let messageBytes: Int
  }

  struct GroupRow: Encodable {
    let members, messages, servers: Int
    /// Seconds: of the owner, until all are in the group; of all, until all is sent; of one reader, until he has all.
    let setup, sending: Double
    let reading: [MeasuredGroup.Parts]
    /// Of one member: shares put, and taken.
    let putByOne, takenByOne: Traffic.Totals
    let mebibytes: Double
  }

  /// One device sends, another receives, some times over.
  static func run(_ given: Options) async throws {
    let servers = try given.servers()
    let (threshold, sufficient) = (try given.number("threshold", 2), try given.number("sufficient", 3))
    let (messages, bytes) = (try given.number("messages", 1), try given.number("bytes", 323))
    let group = try await MeasuredGroup(
      2, on: servers, threshold: threshold, sufficient: sufficient, folder: given.text("folder"))
    try await group.settle(2)
    _ = try await group.send(1, byteCount: bytes)
    _ = try await group.receive(1)
    var (upload, download): ([MeasuredGroup.Parts], [MeasuredGroup.Parts]) = ([], [])
    group.devices[0].traffic.reset()
    for _ in 0..<(try given.number("rounds", 5)) {
      upload.append(try await group.send(messages, byteCount: bytes))
      download.append(try await group.receive(messages))
    }
    let traffic = group.devices[0].traffic.all
    try GrouperBench.print(
      Row(
        servers: servers.count, threshold: threshold, sufficient: sufficient, messages: messages, upload: upload,
        download: download, shareBytes: traffic.putBytes / max(traffic.puts, 1), messageBytes: messageBytes(bytes)))
  }

  /// Many members, of whom each sends; some read everything.
  static func group(_ given: Options) async throws {
    let servers = try given.servers()
    let (members, messages) = (try given.number("members", 100), try given.number("messages", 100))
    let (bytes, readers) = (try given.number("bytes", 323), try given.number("readers", 2))
    let start = Stopwatch.now()
    let group = try await MeasuredGroup(
      members, on: servers, threshold: given.number("threshold", 2), sufficient: given.number("sufficient", 3),
      folder: given.text("folder"))
    try await group.settle(readers)
    let isReady = Stopwatch.now()
    for device in group.devices { device.traffic.reset() }
    for place in 0..<members { _ = try await group.send(messages, byteCount: bytes, from: place) }
    let isSent = Stopwatch.now()
    var reading: [MeasuredGroup.Parts] = []
    for place in 0..<readers { reading.append(try await group.receive((members - 1) * messages, at: place)) }
    try GrouperBench.print(
      GroupRow(
        members: members, messages: messages, servers: servers.count, setup: isReady - start,
        sending: isSent - isReady, reading: reading, putByOne: group.devices[members - 1].traffic.all,
        takenByOne: group.devices[0].traffic.all, mebibytes: Stopwatch.peakMebibytes()))
  }

  /// What an object of so many bytes makes.
  private static func messageBytes(_ count: Int) throws -> Int {
    let keys = try MemberKeys.generate(node: .random(), email: "owner@example.org", name: "owner")
    let stream = StreamID(node: keys.card.node, incarnation: 1)
    let content = try UpdateContent(body: .inline([UInt8](repeating: 0x78, count: count)), files: [])
    let message = try GrouperMessage(
      type: .update, group: .random(), epoch: 1, id: .random(), sequence: 1, className: Record.className,
      objectID: "r1", stream: stream, email: keys.card.email, name: keys.card.name, sentTime: 0,
      version: VersionVector([stream: 1]), time: .zero, content: content.encoded())
    return try SignedMessage(message, by: keys).bytes.count
  }
}
