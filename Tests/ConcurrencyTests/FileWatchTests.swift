import Concurrency
import Glibc
import Testing

@Suite final class FileWatchTests {
  let folder: String
  let pulse = Pulse()

  init() throws {
    var template = Array("/tmp/vault-watch-XXXXXX".utf8CString)
    folder = try #require(mkdtemp(&template).map { String(cString: $0) })
    for name in ["one", "other"] {
      let descriptor = open(folder + "/" + name, O_WRONLY | O_CREAT, 0o600)
      try #require(descriptor >= 0)
      close(descriptor)
    }
  }

  deinit {
    for name in ["one", "other"] { unlink(folder + "/" + name) }
    rmdir(folder)
  }

  private func touch(_ name: String) { utimensat(AT_FDCWD, folder + "/" + name, nil, 0) }

  /// Watches a file for as long as `body` takes.
  private func watching(
    _ name: String, _ pulse: Pulse, in folder: String? = nil, _ body: () async throws -> Void
  ) async throws {
    guard let watched = FileWatch.watch((folder ?? self.folder) + "/" + name, pulse) else { throw Unwatched() }
    try await body()
    _ = consume watched
  }

  private struct Unwatched: Error {}

  @Test func `touching a file and replacing it strike its pulse`() async throws {
    try await watching("one", pulse) {
      var count = pulse.count
      touch("one")
      try await pulse.wait(since: count)
      count = pulse.count
      rename(folder + "/other", folder + "/one")
      try await pulse.wait(since: count)
    }
  }

  @Test func `other files don't strike it, and neither does its own once nobody watches it`() async throws {
    let last = Pulse()
    try await watching("other", last) {
      try await watching("one", pulse) {
        // Changes are told of in their order.
        let count = last.count
        touch("other")
        try await last.wait(since: count)
        #expect(pulse.count == 0)
      }
      let count = last.count
      touch("one")
      touch("other")
      try await last.wait(since: count)
      #expect(pulse.count == 0)
    }
  }

  @Test func `a watch whose folder is removed strikes its pulse once more, and says that it is dead`() async throws {
    guard let watched = FileWatch.watch(folder + "/one", pulse) else { throw Unwatched() }
    let isAlive = watched.isAlive
    #expect(isAlive)
    for name in ["one", "other"] { unlink(folder + "/" + name) }
    var seen = pulse.count
    try #require(rmdir(folder) == 0)
    while watched.isAlive {
      try await pulse.wait(since: seen)
      seen = pulse.count
    }
  }

  @Test func `a folder that isn't there can't be watched`() async {
    await #expect(throws: Unwatched.self) { try await watching("one", pulse, in: folder + "/missing") {} }
  }
}
