import CShims
import CompiledPreload
import Foundation
import Glibc
import NetLink
import Testing
import Concurrency

/// What a server may do that has taken vault-net over.
@Suite(.timeLimit(.minutes(5))) struct IntrusionTests {
  private static let library = Result {
    let source = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Preload/NetIntruder.c")
    return try CompiledPreload.library(source, in: URL(filePath: netProgram()).deletingLastPathComponent())
  }

  /// A folder with a file that somebody could want, and certificates.
  private struct Loot: ~Copyable {
    static let certificates = ["0123abcd.0", "0123abcd.r12"]
    let folder = FileManager.default.temporaryDirectory.path + "/net-intruder-" + UUID().uuidString
    var file: String { folder + "/notes" }

    init() throws {
      try FileManager.default.createDirectory(atPath: folder + "/more", withIntermediateDirectories: true)
      for name in ["notes", "0123abcd", "0123abcd.0.bak", "more/0123abcd.0"] + Self.certificates {
        try "precious".write(toFile: folder + "/" + name, atomically: false, encoding: .utf8)
      }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }
  }

  /// Tries one thing, and says what came of it. Nothing of the file may have changed.
  private func intrude(
    _ attempt: String, file: String? = nil, additions: [String] = [], _ loot: borrowing Loot
  ) throws -> String {
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
    let complaint = Pipe()
    let environment = [
      "LD_PRELOAD=\(try Self.library.get())", "INTRUDER=\(attempt)", "INTRUDER_FILE=\(file ?? loot.file)",
      "INTRUDER_NEW=\(loot.folder)/new", "INTRUDER_FOLDER=\(loot.folder)",
    ]
    let error = complaint.fileHandleForWriting
    let process = try Subprocess.start(
      netProgram(), ["vault-net"], environment: environment + additions,
      standard: [ends[1], error.fileDescriptor, error.fileDescriptor])
    try error.close()
    close(ends[1])
    defer { close(ends[0]) }
    let said = String(decoding: complaint.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    var status: Int32 = 0
    try #require(waitpid(process, &status, 0) == process)
    #expect(try String(contentsOfFile: loot.file, encoding: .utf8) == "precious")
    #expect(!FileManager.default.fileExists(atPath: loot.folder + "/new"))
    if status & 0x7F != 0 { return "signal \(status & 0x7F)" }
    #expect(status >> 8 == 99)
    return said.split(separator: "\n").last.map { String($0.dropFirst(attempt.utf8.count + 2)) } ?? ""
  }

  @Test(arguments: ["nothing", "own limits", "pair of streams"])
  func `what speaking needs is allowed`(_ attempt: String) throws {
    #expect(try intrude(attempt, Loot()) == "done")
  }

  @Test(arguments: ["execute", "trace"])
  func `another program or process is the end`(_ attempt: String) throws {
    #expect(try intrude(attempt, Loot()) == "signal \(SIGSYS)")
  }

  @Test(arguments: [
    "limits of another process", "other limits", "owner of a descriptor", "signal of a descriptor",
    "survive the parent",
    "unlink",
  ])
  func `the kernel doesn't know what nobody needs`(_ attempt: String) throws {
    #expect(try intrude(attempt, Loot()) == "Function not implemented")
  }

  @Test(arguments: [
    "pair of datagrams", "pair of packets", "local socket", "local datagrams", "raw socket", "write", "append", "both",
    "truncate", "create",
  ])
  func `no program of this machine is reached, and no file written`(_ attempt: String) throws {
    #expect(try intrude(attempt, Loot()) == "Permission denied")
  }

  @Test(
    .enabled(if: vault_landlock_version() > 0),
    arguments: ["read", "write", "append", "both", "truncate", "create", "unlink", "list"])
  func `Landlock alone keeps files as they are, and unread`(_ attempt: String) throws {
    #expect(try intrude(attempt, additions: ["INTRUDER_UNFILTERED=1"], Loot()) == "Permission denied")
  }

  @Test(.enabled(if: vault_landlock_version() > 0))
  func `of a folder of certificates only these can be read`() throws {
    let loot = try Loot()
    let additions = ["SSL_CERT_DIR=/nowhere:\(loot.folder)", "SSL_CERT_FILE=\(loot.folder)"]
    for name in Loot.certificates {
      #expect(try intrude("read", file: loot.folder + "/" + name, additions: additions, loot) == "done", "\(name)")
    }
    for name in ["notes", "0123abcd", "0123abcd.0.bak", "more/0123abcd.0"] {
      let said = try intrude("read", file: loot.folder + "/" + name, additions: additions, loot)
      #expect(said == "Permission denied", "\(name)")
    }
    #expect(try intrude("list", additions: additions, loot) == "Permission denied")
    #expect(try intrude("read", additions: ["SSL_CERT_FILE=\(loot.file)"], loot) == "done")
  }
}
