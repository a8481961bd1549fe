import Foundation
import Testing

@Suite("Where tests of whole programs run")
struct BenchTests {
  @Test("nothing is left of a test whose program dies: no process, no folder")
  func deadProgram() async throws {
    try await Bench.run { bench in
      let folder = bench.folder + "/other"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
      let warden = try Warden(folder)
      let children = try (0..<3).map { _ in try bench.start("/bin/sleep", ["1000"]) }
      for child in children { warden.started(child.process) }
      children[1].signal(SIGTERM)
      _ = try await children[1].endByCrash(within: 60)
      warden.ended(children[1].process)
      // As the end of this program does.
      await warden.end()
      for child in [children[0], children[2]] {
        #expect(try await child.endByCrash(within: 60) & 0x7f == SIGKILL)
      }
      #expect(!FileManager.default.fileExists(atPath: folder))
    }
  }
}
