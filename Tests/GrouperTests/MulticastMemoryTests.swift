import Testing
import WireCodec

@testable import Grouper

@Suite struct MulticastMemoryTests {
  private let node = NodeID([UInt8](repeating: 1, count: 16))
  private let other = NodeID([UInt8](repeating: 2, count: 16))

  private func memory() throws -> MulticastMemory {
    let stream = StreamID(node: try #require(node), incarnation: 3)
    let question = StreamProgress.Question(
      numbers: SequenceSet(4...9), target: try #require(other), until: 1_000_000, attempt: 2)
    return MulticastMemory(
      lastHeard: [try #require(other): 77],
      rows: [
        stream: MulticastMemory.Row(gapSince: 5, holders: [try #require(other): 9], questions: [question]),
        StreamID(node: try #require(other), incarnation: 1): MulticastMemory.Row(
          gapSince: nil, holders: [try #require(node): 2], questions: []),
      ])
  }

  @Test func `what was heard and asked is written and read back`() throws {
    let memory = try memory()
    let bytes = try memory.encoded()
    #expect(try MulticastMemory.decode(bytes, limit: MulticastMemory.byteLimit) == memory)
    for count in 0..<bytes.count {
      #expect(throws: WireError.self) {
        try MulticastMemory.decode(Array(bytes.prefix(count)), limit: MulticastMemory.byteLimit)
      }
    }
  }

  @Test func `nothing of strangers is recalled`() throws {
    let own = StreamID(node: try #require(NodeID([UInt8](repeating: 9, count: 16))), incarnation: 1)
    var machine = Multicast(own: own, settings: MulticastSettings(ttl: 60_000, grace: 100))
    machine.recall(try memory())
    #expect(machine.missingCount == 0)
    #expect(machine.questions(at: 2_000_000).isEmpty)
  }
}
