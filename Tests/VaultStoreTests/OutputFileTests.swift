import Glibc
import Testing

@testable import VaultStore

/// Every behaviour both with an unnamed file and with the fallback, a temporary name.
@Suite(.serialized) struct OutputFileTests {
  @Test(arguments: [true, false]) func `a committed file has its bytes and mode 0600`(_ unnamed: Bool) throws {
    let home = try TestHome()
    var output = try OutputFile(path: home.path + "/out", overwrites: false, mayBeUnnamed: unnamed)
    try output.write([1, 2, 3])
    try output.write([4])
    #expect(output.byteCount == 4)
    #expect(!exists(home.path + "/out"))
    try output.commit()
    #expect(home.files() == [home.path + "/out"])
    #expect(contents(home.path + "/out") == [1, 2, 3, 4])
    #expect(mode(home.path + "/out") == 0o600)
  }

  @Test(arguments: [true, false]) func `a dropped file leaves nothing`(_ unnamed: Bool) throws {
    let home = try TestHome()
    do {
      var output = try OutputFile(path: home.path + "/out", overwrites: true, mayBeUnnamed: unnamed)
      try output.write([1])
      #expect(home.files().count == (unnamed ? 0 : 1))
    }
    #expect(home.files() == [])
  }

  @Test(arguments: [true, false]) func `an existing file is refused at once, and kept`(_ unnamed: Bool) throws {
    let home = try TestHome()
    try write([9], to: home.path + "/out")
    #expect(throws: StoreError.alreadyExists(home.path + "/out")) {
      _ = try OutputFile(path: home.path + "/out", overwrites: false, mayBeUnnamed: unnamed)
    }
    #expect(contents(home.path + "/out") == [9])
  }

  @Test(arguments: [true, false]) func `a file that appears meanwhile is kept`(_ unnamed: Bool) throws {
    let home = try TestHome()
    var output = try OutputFile(path: home.path + "/out", overwrites: false, mayBeUnnamed: unnamed)
    try output.write([1])
    try write([9], to: home.path + "/out")
    let failure = failure(committing: output)
    #expect(failure == .alreadyExists(home.path + "/out"))
    #expect(contents(home.path + "/out") == [9])
    #expect(home.files() == [home.path + "/out"])
  }

  @Test(arguments: [true, false]) func `force replaces in one step`(_ unnamed: Bool) throws {
    let home = try TestHome()
    try write([9, 9], to: home.path + "/out", mode: 0o644)
    var output = try OutputFile(path: home.path + "/out", overwrites: true, mayBeUnnamed: unnamed)
    try output.write([1])
    #expect(contents(home.path + "/out") == [9, 9])
    try output.commit()
    #expect(contents(home.path + "/out") == [1])
    #expect(mode(home.path + "/out") == 0o600)
    #expect(home.files() == [home.path + "/out"])
  }

  @Test(arguments: [true, false])
  func `a symbolic link stays, and what it leads to is replaced`(_ unnamed: Bool) throws {
    let home = try TestHome()
    try write([9], to: home.path + "/target")
    symlink("target", home.path + "/out")
    #expect(throws: StoreError.alreadyExists(home.path + "/out")) {
      _ = try OutputFile(path: home.path + "/out", overwrites: false, mayBeUnnamed: unnamed)
    }
    var output = try OutputFile(path: home.path + "/out", overwrites: true, mayBeUnnamed: unnamed)
    try output.write([1])
    #expect(contents(home.path + "/target") == [9])
    try output.commit()
    #expect(contents(home.path + "/target") == [1])
    var status = stat()
    #expect(lstat(home.path + "/out", &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
  }

  @Test func `a link to anything but a file of the user's is refused`() throws {
    let home = try TestHome()
    mkdir(home.path + "/folder", 0o700)
    for (name, target) in [("device", "/dev/null"), ("folder-link", "folder"), ("nowhere-link", "nowhere")] {
      let path = home.path + "/" + name
      symlink(target, path)
      #expect(throws: StoreError.self) { _ = try OutputFile(path: path, overwrites: true) }
      var status = stat()
      #expect(lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
    }
  }

  @Test(arguments: [true, false])
  func `a link that leads nowhere is said to be one, overwritten or not`(_ overwrites: Bool) throws {
    let home = try TestHome()
    symlink(home.path + "/nowhere", home.path + "/out")
    let error = #expect(throws: StoreError.self) {
      _ = try OutputFile(path: home.path + "/out", overwrites: overwrites)
    }
    #expect(error?.description.contains("leads nowhere") == true)
    #expect(!exists(home.path + "/nowhere"))
  }

  @Test func `what is not a file is never replaced`() throws {
    let home = try TestHome()
    mkdir(home.path + "/folder", 0o700)
    mkfifo(home.path + "/pipe", 0o600)
    for name in ["folder", "pipe"] {
      #expect(throws: StoreError.inputOutput(path: home.path + "/" + name, reason: "is not a regular file")) {
        _ = try OutputFile(path: home.path + "/" + name, overwrites: true)
      }
    }
    for path in ["", "/", home.path + "/", home.path + "/..", "."] {
      #expect(throws: StoreError.self) { _ = try OutputFile(path: path, overwrites: true) }
    }
    #expect(throws: StoreError.notFound(home.path + "/missing")) {
      _ = try OutputFile(path: home.path + "/missing/out", overwrites: true)
    }
  }

  @Test func `the temporary name is beside the destination and can't be foreseen`() throws {
    let home = try TestHome()
    let first = try OutputFile(path: home.path + "/out", overwrites: false, mayBeUnnamed: false)
    let second = try OutputFile(path: home.path + "/out", overwrites: false, mayBeUnnamed: false)
    let names = home.files()
    #expect(Set(names).count == 2)
    for name in names {
      #expect(name.utf8.count == (home.path + "/" + FileNames.temporaryPrefix).utf8.count + 32)
      #expect(mode(name) == 0o600)
    }
    _ = (first.byteCount, second.byteCount)
  }

  @Test func `the signal handler's sweep removes temporary names, and commit then fails cleanly`() async throws {
    let home = try TestHome()
    // In a process of its own: the sweep is for all that the process has.
    await #expect(processExitsWith: .success) { [path = home.path as String] in
      var output = try OutputFile(path: path + "/out", overwrites: false, mayBeUnnamed: false)
      try output.write([1])
      try #require(files(below: path).count == 1)
      OutputFile.unlinkAll()
      try #require(files(below: path) == [])
      OutputFile.unlinkAll()
      try #require(failure(committing: output) == .notFound(path + "/out"))
      // The registry is free again for others.
      for _ in 0..<3 * UnlinkRegistry.capacity {
        _ = try OutputFile(path: path + "/out", overwrites: false, mayBeUnnamed: false)
      }
    }
    #expect(home.files() == [])
  }

  @Test(arguments: [true, false]) func `a killed process leaves no plaintext`(_ unnamed: Bool) async throws {
    let home = try TestHome()
    await #expect(processExitsWith: .signal(SIGTERM)) { [path = home.path as String, unnamed = unnamed as Bool] in
      var output = try OutputFile(path: path + "/out", overwrites: true, mayBeUnnamed: unnamed)
      signal(SIGTERM) { number in
        OutputFile.unlinkAll()
        signal(number, SIG_DFL)
        raise(number)
      }
      try output.write([1, 2, 3])
      kill(getpid(), SIGTERM)
      // Another thread may be the one that handles it.
      while true { pause() }
    }
    #expect(home.files() == [])
  }

  @Test func `not even kill -9 leaves plaintext where unnamed files exist`() async throws {
    let home = try TestHome()
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = home.path as String] in
      var output = try OutputFile(path: path + "/out", overwrites: true)
      try output.write([1, 2, 3])
      kill(getpid(), SIGKILL)
    }
    #expect(home.files() == [])
  }

  @Test func `replacing a file needs no name either until the commit`() throws {
    let home = try TestHome()
    try write([9], to: home.path + "/out")
    var output = try OutputFile(path: home.path + "/out", overwrites: true)
    try output.write([1])
    #expect(home.files() == [home.path + "/out"])
    try output.commit()
    #expect(home.files() == [home.path + "/out"])
  }
}

private func failure(committing output: consuming OutputFile) -> StoreError? {
  do throws(StoreError) {
    try output.commit()
    return nil
  } catch { return error }
}

extension OutputFile {
  mutating func write(_ bytes: [UInt8]) throws { try write(bytes.span.bytes) }
}

@Suite struct AtomicFileTests {
  @Test func `a file is replaced whole, or refused if it exists`() throws {
    let home = try TestHome()
    let path = home.path + "/file"
    try AtomicFile.write(([1] as [UInt8]).span.bytes, to: path, replacing: false)
    #expect(throws: StoreError.alreadyExists(path)) {
      try AtomicFile.write(([2] as [UInt8]).span.bytes, to: path, replacing: false)
    }
    #expect(try AtomicFile.read(path, limit: 10) == [1])
    try AtomicFile.write(([2, 3] as [UInt8]).span.bytes, to: path, replacing: true)
    #expect(try AtomicFile.read(path, limit: 2) == [2, 3])
    #expect(throws: StoreError.damaged(path)) { try AtomicFile.read(path, limit: 1) }
    #expect(home.files() == [path])
    #expect(mode(path) == 0o600)
  }

  @Test func `a secret file has exactly its length`() throws {
    let home = try TestHome()
    let path = home.path + "/file"
    try write([1, 2, 3], to: path)
    #expect(publicCopy(try AtomicFile.readSecret(path, count: 3)) == [1, 2, 3])
    for count in [0, 2, 4] {
      #expect(throws: StoreError.damaged(path)) { _ = try AtomicFile.readSecret(path, count: count) }
    }
  }

  @Test func `a pipe or a link in the place of a file is refused without waiting`() throws {
    let home = try TestHome()
    mkfifo(home.path + "/pipe", 0o600)
    symlink("/etc/passwd", home.path + "/link")
    #expect(throws: StoreError.inputOutput(path: home.path + "/pipe", reason: "not a regular file")) {
      try AtomicFile.read(home.path + "/pipe", limit: 10)
    }
    #expect(throws: StoreError.inputOutput(path: home.path + "/link", reason: "is a symbolic link")) {
      try AtomicFile.read(home.path + "/link", limit: 10)
    }
  }
}

/// Renaming that never replaces, as it works where there are no hard links.
@Suite struct PlaceholderTests {
  @Test(arguments: [FileNames.ExclusiveWay.rename, .link])
  func `nothing is replaced, and no second name stays`(_ way: FileNames.ExclusiveWay) throws {
    let home = try TestHome()
    let folder = try OpenFile.folder(home.path)
    try write([1], to: home.path + "/new")
    try FileNames.renameExclusively("new", to: "out", in: folder.descriptor, path: home.path + "/out", best: way)
    #expect(home.files() == [home.path + "/out"])
    try write([2], to: home.path + "/new")
    #expect(throws: StoreError.alreadyExists(home.path + "/out")) {
      try FileNames.renameExclusively("new", to: "out", in: folder.descriptor, path: home.path + "/out", best: way)
    }
    #expect(contents(home.path + "/out") == [1])
    #expect(contents(home.path + "/new") == [2])
  }

  @Test func `a finished file takes the name, unless it is taken`() async throws {
    let home = try TestHome()
    let out = home.path + "/out"
    await #expect(processExitsWith: .success) { [path = home.path as String] in
      let folder = try OpenFile.folder(path)
      func rename() throws(StoreError) {
        try FileNames.renameExclusively(
          "new", to: "out", in: folder.descriptor, path: path + "/out", best: .placeholder)
      }
      try write([1], to: path + "/new")
      try rename()
      try #require(files(below: path) == [path + "/out"])
      try write([2], to: path + "/new")
      try #require(throws: StoreError.alreadyExists(path + "/out")) { try rename() }
      // Afterwards the name is nobody's to remove.
      OutputFile.unlinkAll()
    }
    #expect(contents(out) == [1])
    #expect(contents(home.path + "/new") == [2])
  }

  @Test func `no empty file stays when it fails`() throws {
    let home = try TestHome()
    let folder = try OpenFile.folder(home.path)
    #expect(throws: StoreError.notFound(home.path + "/out")) {
      try FileNames.renameExclusively(
        "missing", to: "out", in: folder.descriptor, path: home.path + "/out", best: .placeholder)
    }
    #expect(home.files() == [])
    do { _ = try Placeholder("out", in: folder.descriptor, path: home.path + "/out") }
    #expect(home.files() == [])
  }

  @Test func `no empty file stays when a signal ends the process in between`() async throws {
    let home = try TestHome()
    await #expect(processExitsWith: .exitCode(130)) { [path = home.path as String] in
      let folder = try OpenFile.folder(path)
      let placeholder = try Placeholder("out", in: folder.descriptor, path: path + "/out")
      try #require(exists(path + "/out"))
      let end: () -> Void = {
        OutputFile.unlinkAll()
        _exit(130)
      }
      end()
      try placeholder.becomes("never")
    }
    #expect(home.files() == [])
  }
}
