import Glibc
import Testing

@testable import VaultStore

@Suite struct FragmentTests {
  @Test func `new fragments appear together, and only when published`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let staging = try database.fragments.stage(count: 255)
    for index in 1...255 { try staging.write([UInt8(index)].span.bytes, index: index, at: 0) }
    #expect(try FileNames.list(home.folders.fragmentsPath) == [])
    try staging.publish(as: sampleID(1))
    #expect(try FileNames.list(home.folders.fragmentsPath).count == 255)
    staging.close()
    #expect(try FileNames.list(home.folders.stagingPath) == [])
    let reader = try database.fragments.open(secretID: sampleID(1), index: 200, byteCount: 1, trailerByteCount: 0)
    #expect(try reader.read(at: 0, count: 1) == [200])
  }

  @Test func `a staging that is dropped leaves nothing`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    do {
      let staging = try database.fragments.stage(count: 3)
      try staging.write(([1] as [UInt8]).span.bytes, index: 1, at: 0)
    }
    #expect(try FileNames.list(home.folders.stagingPath) == [])
    #expect(try FileNames.list(home.folders.fragmentsPath) == [])
  }

  @Test func `a signal that ends the process takes fragments in the making with it`() async throws {
    let home = try TestHome()
    _ = try home.makeDatabase()
    await #expect(processExitsWith: .exitCode(130)) { [path = home.path as String] in
      let store = FragmentStore(VaultFolders(home: path))
      let stagings = [try store.stage(count: 255), try store.stage(count: 1)]
      for staging in stagings {
        for index in 1...staging.count { try staging.write([UInt8(index)].span.bytes, index: index, at: 0) }
      }
      try #require(files(below: store.folders.stagingPath).count == 258)
      OutputFile.unlinkAll()
      _exit(130)
    }
    #expect(try FileNames.list(home.folders.stagingPath) == [])
  }

  @Test func `a signal leaves alone what is published, for a transaction may be about to name it`() async throws {
    let home = try TestHome()
    _ = try home.makeDatabase()
    await #expect(processExitsWith: .exitCode(130)) { [path = home.path as String] in
      let folders = VaultFolders(home: path)
      let database = try VaultDatabase(folders, keys: VaultKeys.unlock(folders, passphrase: nil))
      // More than the registry has room for: each gives its place back.
      for _ in 0..<2 * UnlinkRegistry.capacity { try database.fragments.stage(count: 1).close() }
      let unnamed = try stageFragments(database, 1, count: 2)
      defer { unnamed.staging.close() }
      let staged = try stageFragments(database, 2, count: 2)
      OutputFile.unlinkAll()
      try database.deal(
        sampleSecret(2, origin: .dealt, ownIndex: nil), ownShare: nil, fragments: staged.records, outbox: [])
      _exit(130)
    }
    let database = try home.reopen()
    #expect(try database.openFragment(of: sampleID(2), index: 2).read(at: 0, count: 1) == [2])
    // Files without rows are swept up at the next opening.
    #expect(try FileNames.list(home.folders.fragmentsPath).count == 4)
    #expect(try database.cleanIfDue(at: 1_000_000)?.orphanedFiles == 2)
    #expect(try FileNames.list(home.folders.fragmentsPath).count == 2)
  }

  @Test func `publishing never replaces a fragment, and then publishes none`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try write([42], to: database.fragments.path(sampleID(1), 2))
    let staging = try database.fragments.stage(count: 3)
    #expect(throws: StoreError.alreadyExists(try database.fragments.path(sampleID(1), 2))) {
      try staging.publish(as: sampleID(1))
    }
    #expect(try FileNames.list(home.folders.fragmentsPath) == [hexadecimalName(1, 2)])
    #expect(try contents(database.fragments.path(sampleID(1), 2)) == [42])
  }

  @Test func `nothing is read outside a fragment`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let staged = try stageFragments(database, 1, count: 1)
    let reader = try database.fragments.open(secretID: sampleID(1), index: 1, byteCount: 50, trailerByteCount: 2)
    for (offset, count) in [(0, 51), (50, 1), (-1, 1), (0, -1), (Int64.max, 1), (1, Int.max)] as [(Int64, Int)] {
      #expect(throws: StoreError.invalid("a place outside the fragment")) {
        try reader.read(at: offset, count: count)
      }
    }
    #expect(throws: StoreError.invalid("a place outside the fragment")) { try reader.readTrailer(at: 1, count: 2) }
    #expect(try reader.read(at: 50, count: 0) == [])
    #expect(try reader.readTrailer(at: 0, count: 2) == [9, 9])
    staged.staging.close()
  }

  @Test func `a file of another length is damage`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    _ = try stageFragments(database, 1, count: 1)
    let path = try database.fragments.path(sampleID(1), 1)
    truncate(path, 51)
    #expect(throws: StoreError.damaged(path)) {
      try database.fragments.open(secretID: sampleID(1), index: 1, byteCount: 50, trailerByteCount: 2)
    }
  }

  @Test func `a link in the place of a fragment is not followed`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let path = try database.fragments.path(sampleID(1), 1)
    symlink("/etc/passwd", path)
    #expect(throws: StoreError.inputOutput(path: path, reason: "is a symbolic link")) {
      try database.fragments.open(secretID: sampleID(1), index: 1, byteCount: 1, trailerByteCount: 0)
    }
  }

  @Test(arguments: [0, 1, 63, 64, 65, 128, 129, 199])
  func `a partial fragment goes on at its whole pieces, wherever it was cut`(_ cut: Int) throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let data = (0..<200).map { UInt8($0) }
    do {
      let partial = try open(database)
      for start in stride(from: 0, to: cut, by: 64) { try append(data, from: start, to: partial) }
      try database.checkpoint(partial, expiresAt: 2000)
    }
    truncate(try database.fragments.partialPath(sampleID(1), 2), cut)
    let resumed = try open(home.reopen())
    #expect(resumed.pieceCount == 4)
    #expect(resumed.piecesPresent == cut / 64)
    for number in 0..<resumed.piecesPresent {
      #expect(try resumed.read(piece: number) == Array(data[number * 64..<number * 64 + 64]))
    }
    for start in stride(from: resumed.piecesPresent * 64, to: 200, by: 64) {
      try append(data, from: start, to: resumed)
    }
    try resumed.finish(trailer: ([5, 6, 7] as [UInt8]).span.bytes)
    #expect(try contents(database.fragments.path(sampleID(1), 2)) == data + [5, 6, 7])
    #expect(try FileNames.list(home.folders.fragmentsPath) == [hexadecimalName(1, 2)])
  }

  @Test func `a crash between the rename and the row loses nothing`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    _ = try placeFragment(database, 1, index: 2)
    // The row still says partial. Sending it again takes it up with all its pieces.
    let resumed = try database.openPartial(
      FragmentRecord(
        partialOf: sampleID(1), index: 2, byteCount: 100, trailerByteCount: 4, expiresAt: 5,
        headerDigest: digest("header"),
        source: digest("dealer")), pieceByteCount: 64)
    #expect(resumed.piecesPresent == 2)
  }

  @Test func `only one may write a partial fragment`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let partial = try open(database)
    let path = try database.fragments.partialPath(sampleID(1), 2)
    #expect(throws: StoreError.busy(path: path)) { try open(home.reopen()) }
    withExtendedLifetime(partial) {}
  }

  @Test func `a complete fragment is never taken up as a partial one`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let fragment = try placeFragment(database, 1, index: 2)
    _ = try database.deposit(sampleSecret(1), share: text("share"), index: 2, fragment: fragment)
    let what = "fragment 2 of secret \(String(repeating: "01", count: 16))"
    #expect(throws: StoreError.alreadyExists(what)) { try placeFragment(database, 1, index: 2) }
    #expect(try database.openFragment(of: sampleID(1), index: 2).byteCount == 100)
  }

  @Test func `a partial fragment of another header is left alone`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    do { try open(database).append([UInt8](repeating: 1, count: 64).span.bytes) }
    let what = "fragment 2 of secret \(String(repeating: "01", count: 16))"
    #expect(throws: StoreError.alreadyExists(what)) { try open(database, header: "another") }
    #expect(try open(database).piecesPresent == 1)
  }

  @Test func `pieces have their proper length and come in order`() throws {
    let home = try TestHome()
    let partial = try open(home.makeDatabase())
    for count in [0, 63, 65, 200] {
      #expect(throws: StoreError.invalid("a piece of wrong length")) {
        try partial.append([UInt8](repeating: 0, count: count).span.bytes)
      }
    }
    #expect(throws: StoreError.invalid("an incomplete fragment")) { try partial.finish(trailer: RawSpan()) }
    for count in [64, 64, 64, 8] { try partial.append([UInt8](repeating: 0, count: count).span.bytes) }
    #expect(throws: StoreError.invalid("a piece of wrong length")) {
      try partial.append([UInt8](repeating: 0, count: 8).span.bytes)
    }
    try partial.truncate(toPieces: 3)
    #expect(throws: StoreError.invalid("a piece that is not there")) { try partial.read(piece: 3) }
    #expect(partial.piecesPresent == 3)
  }

  @Test func `a trailer is written and read in parts, once all pieces are there`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let partial = try open(database)
    let bytes: [UInt8] = [1, 2, 3]
    #expect(throws: StoreError.invalid("an incomplete fragment")) { try partial.writeTrailer(bytes.span.bytes, at: 0) }
    #expect(throws: StoreError.invalid("an incomplete fragment")) { try partial.readTrailer(at: 0, count: 1) }
    #expect(throws: StoreError.invalid("an incomplete fragment")) { try partial.finish() }
    for count in [64, 64, 64, 8] { try partial.append([UInt8](repeating: 0, count: count).span.bytes) }
    try partial.writeTrailer(bytes.span.bytes, at: 2)
    try partial.writeTrailer(bytes.span.bytes, at: 0)
    #expect(try partial.readTrailer(at: 1, count: 4) == [2, 3, 2, 3])
    for (offset, count) in [(-1, 1), (0, -1), (Int64.max, 1)] as [(Int64, Int)] {
      #expect(throws: StoreError.invalid("a place outside the trailer")) {
        try partial.readTrailer(at: offset, count: count)
      }
    }
    try partial.finish()
    #expect(try contents(database.fragments.path(sampleID(1), 2)).suffix(5) == [1, 2, 3, 2, 3])
  }

  @Test func `what is staged can be read back, and nothing lies outside`() throws {
    let home = try TestHome()
    let staging = try home.makeDatabase().fragments.stage(count: 2)
    let bytes: [UInt8] = [1, 2, 3]
    try staging.write(bytes.span.bytes, index: 2, at: 4)
    #expect(try staging.read(index: 2, at: 3, count: 4) == [0, 1, 2, 3])
    for (index, offset) in [(0, 0), (3, 0), (1, -1), (1, Int64.max)] as [(Int, Int64)] {
      #expect(throws: StoreError.invalid("a place outside the fragments")) {
        try staging.write(bytes.span.bytes, index: index, at: offset)
      }
    }
  }

  @Test func `a partial fragment can be thrown away`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    do { try open(database).append([UInt8](repeating: 1, count: 64).span.bytes) }
    try database.discardPartial(of: sampleID(1), index: 2)
    #expect(try database.fragments(of: sampleID(1)) == [])
    #expect(try FileNames.list(home.folders.fragmentsPath) == [])
  }

  @discardableResult
  private func open(_ database: VaultDatabase, header: String = "header") throws -> PartialFragment {
    try database.openPartial(
      FragmentRecord(
        partialOf: sampleID(1), index: 2, byteCount: 200, trailerByteCount: 3, expiresAt: 1000,
        headerDigest: digest(header), source: nil), pieceByteCount: 64)
  }

  private func append(_ data: [UInt8], from start: Int, to partial: PartialFragment) throws {
    try partial.append(data.span.bytes.extracting(start..<min(data.count, start + 64)))
  }
}
