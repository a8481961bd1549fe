import Foundation
import MemoryScan
import Testing

/// The built program. What is scanned is all that it can write to.
@Suite struct ServerMemoryTests {
  @Test func `nothing of a share is in the program's memory once it was taken and given out`() async throws {
    let folder = try Folder()
    let server = try await ServerProcess.start(folder)
    let group = try await Group.make(at: server.place)
    let user = try await group.addUser(at: server.place)
    // Not closed before the search: what a connection keeps counts, too.
    let connection = try Connection(server.place)
    var random = SystemRandomNumberGenerator()
    var needles = Needles()
    for size in [24, 100, 1000, 5000, 40_000, 300_000, 1 << 20] {
      let bytes = (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }
      for (part, place) in [("beginning", 0), ("middle", size / 2 - 12), ("end", size - 24)] {
        bytes[place..<place + 24].withUnsafeBytes { needles.add("the \(part) of \(size) bytes", $0) }
      }
      let path = "\(group.path)/shares/\(freshID())"
      let put = Ask(
        method: "PUT", path: path,
        headers: ["Authorization": "Bearer " + group.accessKey, "Content-Type": "application/octet-stream"], body: bytes
      )
      let get = Ask(path: path, headers: ["Authorization": "Bearer " + user.accessKey])
      let answers = try await offTheCooperativePool {
        connection.send(put.bytes)
        let taken = connection.receive()?.status
        connection.send(get.bytes)
        return (taken, connection.receive()?.body.count)
      }
      #expect(answers.0 == 201 && answers.1 == size)
      #expect(try await group.list("after=0", as: user, at: server.place).shares.last?.data == Data(bytes))
    }
    var found: [String] = []
    try await eventually("nothing is left", within: 120) {
      found = try ProcessMemory.of(server.number).search(for: needles).summary
      return found.isEmpty
    }
    #expect(found.isEmpty, "\(found)")
    withExtendedLifetime((connection, folder)) {}
  }
}
