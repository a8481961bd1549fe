import Foundation
import Sodium
import Testing

@testable import Grouper

/// Large objects and files, in chunks.
@Suite struct FileTests {
  @Test func aFileTravelsWithItsObject() async throws {
    let world = try World()
    let devices = try await world.group(2)
    let bytes = try Randomness.bytes(700_001)
    let (source, target) = (world.folder + "/source", world.folder + "/target")
    try Data(bytes).write(to: URL(fileURLWithPath: source))
    let file = try await devices[0].grouper.addFile(path: source)
    #expect(file.chunkCount == 3)
    try await devices[0].grouper.sender.update(Note(objectID: "a", text: "with a file", attachments: [file]))
    try await world.settle(devices)
    let note = try #require(try devices[1].objects.object(Note.self, "a"))
    #expect(note.attachments == [file])
    #expect(try await devices[1].grouper.hasFile(file))
    try await devices[1].grouper.writeFile(file, to: target)
    #expect([UInt8](try Data(contentsOf: URL(fileURLWithPath: target))) == bytes)
    let names = try FileManager.default.contentsOfDirectory(atPath: world.folder)
    #expect(!names.contains { $0.hasPrefix("target.") })
  }

  @Test func aLargeObjectGoesInChunksAndExpiredOnesComeAgain() async throws {
    let world = try World()
    let devices = try await world.group(2, ttl: 600)
    try await world.settle(devices)
    let text = String(repeating: "a long text. ", count: 60_000)
    try await devices[0].write("a", text)
    #expect(try devices[0].text("a") == text)
    _ = try await devices[0].grouper.sync()
    world.clock.advance(seconds: 700)
    try await world.settle(devices)
    #expect(try devices[1].text("a") == text)
  }

  @Test func chunksGoWithTheLastObjectThatNamesThem() async throws {
    let world = try World()
    let devices = try await world.group(2)
    let source = world.folder + "/source"
    try Data(try Randomness.bytes(300_000)).write(to: URL(fileURLWithPath: source))
    let file = try await devices[0].grouper.addFile(path: source)
    try await devices[0].grouper.sender.update(Note(objectID: "a", text: "1", attachments: [file]))
    try await devices[0].grouper.sender.update(Note(objectID: "b", text: "2", attachments: [file]))
    try await world.settle(devices)
    try await devices[1].grouper.sender.delete(Note(objectID: "a", text: ""))
    try await world.settle(devices)
    for device in devices { #expect(try await device.grouper.hasFile(file)) }
    try await devices[0].grouper.sender.update(Note(objectID: "b", text: "without"))
    try await world.settle(devices)
    // Not at once: a change that names it may still be on its way.
    for device in devices { #expect(try await device.grouper.hasFile(file)) }
    world.clock.advance(seconds: 61 * 86_400)
    try await world.settle(devices)
    for device in devices { #expect(try await !device.grouper.hasFile(file)) }
  }

  @Test func aFileThatHasntComeIsNotWritten() async throws {
    let world = try World()
    let devices = try await world.group(1)
    let digest = try DomainHash("vault/group-file/v1").digest()
    let author = StreamID(node: try .random(), incarnation: 1)
    let file = FileReference(author: author, id: try .random(), byteCount: 5, digest: digest)
    let target = world.folder + "/target"
    await #expect(throws: GroupError.invalid("part 1 of 1 of the file hasn't come yet")) {
      try await devices[0].grouper.writeFile(file, to: target)
    }
    #expect(!FileManager.default.fileExists(atPath: target))
    let empty = world.folder + "/empty"
    try Data().write(to: URL(fileURLWithPath: empty))
    let nothing = try await devices[0].grouper.addFile(path: empty)
    try await devices[0].grouper.writeFile(nothing, to: target)
    #expect(try Data(contentsOf: URL(fileURLWithPath: target)).isEmpty)
  }
}
