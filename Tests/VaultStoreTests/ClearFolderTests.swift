import Glibc
import Sodium
import Testing

@testable import VaultStore

@Suite("Folders in memory for what must be a file in the clear", .serialized)
struct ClearFolderTests {
  private let now: Int64 = 1_800_000_000_000

  private func notes(_ home: TestHome) throws -> [String] {
    try FileNames.list(home.folders.stagingPath).filter { $0.hasSuffix(OutputNotes.folderSuffix) }
  }

  private func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  @Test(.enabled(if: ClearFolder.isInMemory("/dev/shm")))
  func `a folder goes with everything in it, and so does its note`() throws {
    let home = try TestHome()
    _ = try home.makeDatabase()
    var path = ""
    do {
      let folder = try ClearFolder(in: ["/nowhere", "/dev/shm"], notes: OutputNotes(home.folders))
      path = folder.path
      try folder.write("note", Array("secret".utf8).span.bytes)
      mkdir(path + "/inner", 0o700)
      symlink("/etc/passwd", path + "/inner/link")
      let read = try folder.read("note", limit: 6)
      let bytes = read.withUnsafeBytes { Array($0) }
      #expect(bytes == Array("secret".utf8))
      #expect(throws: StoreError.self) { _ = try folder.read("note", limit: 5).count }
      #expect(throws: StoreError.self) { _ = try folder.read("inner", limit: 5).count }
      var status = stat()
      #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o700)
      #expect(try notes(home).count == 1)
    }
    #expect(!exists(path) && exists("/etc/passwd"))
    #expect(try notes(home).isEmpty)
  }

  @Test func `a folder on a disk is refused`() throws {
    let home = try TestHome()
    _ = try home.makeDatabase()
    #expect(!ClearFolder.isInMemory("/proc") && !ClearFolder.isInMemory("/nowhere"))
    #expect(throws: StoreError.notInMemory(["/proc", "/nowhere"])) {
      _ = try ClearFolder(in: ["/proc", "/nowhere"], notes: OutputNotes(home.folders)).path
    }
    #expect(try notes(home).isEmpty)
  }

  @Test(.enabled(if: ClearFolder.isInMemory("/dev/shm")))
  func `a note that nobody holds leads to its folder, and to nothing else`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let abandoned = "/dev/shm/vault-clear-" + (try FileNames.random())
    let other = "/dev/shm/other-" + (try FileNames.random())
    defer {
      rmdir(abandoned)
      rmdir(other)
    }
    mkdir(abandoned, 0o700)
    mkdir(other, 0o700)
    try AtomicFile.write(Array("x".utf8).span.bytes, to: abandoned + "/note.txt", replacing: false)
    for (number, path) in [abandoned, other, "relative/vault-clear-00", "", "/"].enumerated() {
      let note = home.folders.stagingPath + "/\(number)" + OutputNotes.folderSuffix
      try AtomicFile.write(Array(path.utf8).span.bytes, to: note, replacing: false)
    }
    let held = try ClearFolder(in: ["/dev/shm"], notes: OutputNotes(home.folders))
    let heldPath = held.path
    let report = try #require(try database.cleanIfDue(at: now))
    #expect(report.outputNotes == 5)
    #expect(!exists(abandoned) && exists(other) && exists(heldPath))
    #expect(try notes(home).count == 1)
    // Held until here.
    let stillThere = held.path
    #expect(stillThere == heldPath)
  }

  @Test(.enabled(if: ClearFolder.isInMemory("/dev/shm"))) func `all folders of a process go at once when it must end`()
    throws
  {
    let home = try TestHome()
    _ = try home.makeDatabase()
    let folder = try ClearFolder(in: ["/dev/shm"], notes: OutputNotes(home.folders))
    try folder.write("note", Array("secret".utf8).span.bytes)
    let path = folder.path
    ClearFolder.removeAll()
    #expect(!exists(path))
  }
}
