import Glibc
import Testing

@testable import VaultStore

@Suite(.serialized) struct OutputNotesTests {
  @Test(arguments: [true, false]) func `a committed file leaves no note`(_ unnamed: Bool) throws {
    let home = try TestHome()
    _ = try home.makeDatabase()
    try write([9], to: home.path + "/out")
    var output = try OutputFile(
      path: home.path + "/out", overwrites: true, notes: OutputNotes(home.folders), mayBeUnnamed: unnamed)
    try output.write([1])
    #expect(try FileNames.list(home.folders.stagingPath).count == (unnamed ? 0 : 1))
    try output.commit()
    #expect(contents(home.path + "/out") == [1])
    #expect(try FileNames.list(home.folders.stagingPath) == [])
  }

  @Test func `what kill -9 leaves goes with the next cleaning, which is due at once`() async throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try database.clean(at: 1_000_000)
    #expect(try database.cleanIfDue(at: 1_000_001) == nil)
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = home.path as String] in
      var output = try OutputFile(
        path: path + "/out", overwrites: true, notes: OutputNotes(VaultFolders(home: path)), mayBeUnnamed: false)
      try output.write([1, 2, 3])
      kill(getpid(), SIGKILL)
    }
    #expect(home.files().contains { $0.hasPrefix(home.path + "/" + FileNames.temporaryPrefix) })
    let report = try database.cleanIfDue(at: 1_000_002)
    #expect(report?.outputNotes == 1)
    #expect(!home.files().contains { $0.contains(FileNames.temporaryPrefix) })
    #expect(try FileNames.list(home.folders.stagingPath) == [])
  }

  @Test func `what kill -9 leaves on a disk that is gone afterwards goes when the disk is back`() async throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let (stick, pulled) = (home.path + "/stick", home.path + "/pulled")
    mkdir(stick, 0o700)
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = home.path as String] in
      var output = try OutputFile(
        path: path + "/stick/out", overwrites: false, notes: OutputNotes(VaultFolders(home: path)), mayBeUnnamed: false)
      try output.write([1, 2, 3])
      kill(getpid(), SIGKILL)
    }
    rename(stick, pulled)
    let now = Int64(time(nil)) * 1000
    #expect(try database.clean(at: now).outputNotes == 0)
    // Nothing is due because of it.
    #expect(try database.cleanIfDue(at: now) == nil)
    rename(pulled, stick)
    #expect(try database.cleanIfDue(at: now)?.outputNotes == 1)
    #expect(try FileNames.list(stick) == [] && FileNames.list(home.folders.stagingPath) == [])
  }

  @Test func `a note whose folder never comes back goes after a month`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let name = FileNames.temporaryPrefix + String(repeating: "a", count: 32)
    try write(Array("\(home.path)/stick/\(name)".utf8), to: home.folders.stagingPath + "/1.output")
    let now = Int64(time(nil)) * 1000
    #expect(try database.clean(at: now + OutputNotes.lifetime - 60_000).outputNotes == 0)
    #expect(try database.clean(at: now + OutputNotes.lifetime + 60_000).outputNotes == 1)
    #expect(try FileNames.list(home.folders.stagingPath) == [])
  }

  @Test func `the output of a running process is left alone`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    var output = try OutputFile(
      path: home.path + "/out", overwrites: false, notes: OutputNotes(home.folders), mayBeUnnamed: false)
    try output.write([1])
    try database.clean(at: 1_000_000)
    #expect(try database.cleanIfDue(at: 1_000_001) == nil)
    try output.commit()
    #expect(contents(home.path + "/out") == [1])
    #expect(try FileNames.list(home.folders.stagingPath) == [])
  }

  @Test func `a note that speaks of anything else removes nothing but itself`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let temporary = FileNames.temporaryPrefix + String(repeating: "a", count: 32)
    let victims = ["papers", temporary + "0", FileNames.temporaryPrefix + String(repeating: "Z", count: 32)]
    for name in victims { try write([1], to: home.path + "/" + name) }
    mkdir(home.path + "/folder", 0o700)
    mkdir(home.path + "/folder/" + temporary, 0o700)
    let texts = victims.map { home.path + "/" + $0 } + [home.path + "/folder/" + temporary, temporary, "", "/", "\0"]
    for (number, text) in texts.enumerated() {
      try write(Array(text.utf8), to: home.folders.stagingPath + "/\(number).output")
    }
    let report = try database.clean(at: 1_000_000)
    #expect(report.outputNotes == texts.count)
    for name in victims { #expect(exists(home.path + "/" + name)) }
    #expect(exists(home.path + "/folder/" + temporary))
    #expect(try FileNames.list(home.folders.stagingPath) == [])
  }

  @Test func `a note that can't be written doesn't keep the user from the file`() throws {
    let home = try TestHome()
    var output = try OutputFile(
      path: home.path + "/out", overwrites: false, notes: OutputNotes(home.folders), mayBeUnnamed: false)
    try output.write([1])
    try output.commit()
    #expect(contents(home.path + "/out") == [1])
  }
}
