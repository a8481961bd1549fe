import Glibc
import SecretVault
import Testing

@testable import VaultCLI

@Suite("Processes, files and the service manager")
struct SystemTests {
  // As the program does before anything else.
  init() { signal(SIGPIPE, SIG_IGN) }

  @Test func aChildGetsItsInputAndItsOutputComesBackWhatEverTheSizes() throws {
    let input = [UInt8](repeating: 65, count: 900_000)
    let outcome = try ChildProcess(path: "/bin/cat", arguments: ["cat"]).run(input: input)
    #expect(outcome.status == 0)
    #expect(outcome.output == input)
  }

  @Test func aChildThatWritesTooMuchIsStopped() {
    let child = ChildProcess(path: "/bin/sh", arguments: ["sh", "-c", "yes"], outputLimit: 100_000)
    #expect(throws: VaultError.self) { try child.run() }
  }

  @Test func exitCodesAndSignalsAreReportedAsAShellWould() throws {
    #expect(try ChildProcess(path: "/bin/sh", arguments: ["sh", "-c", "exit 7"]).run().status == 7)
    #expect(try ChildProcess(path: "/bin/sh", arguments: ["sh", "-c", "kill -9 $$"]).run().status == 137)
    #expect(throws: VaultError.self) { try ChildProcess(path: "/nonexistent", arguments: ["x"]).run() }
  }

  @Test func complaintsAreKeptApart() throws {
    let outcome = try ChildProcess(path: "/bin/sh", arguments: ["sh", "-c", "echo out; echo err >&2"]).run()
    #expect(outcome.output == Array("out\n".utf8))
    #expect(outcome.complaints == Array("err\n".utf8))
  }

  @Test func aPublicFileReplacesAnotherAndOthersMayReadIt() throws {
    let folder = Shell.folder()
    try PublicFile.write([1, 2], to: folder + "/f")
    try PublicFile.write([3], to: folder + "/f")
    #expect(try PublicFile.read(path: folder + "/f", limit: 10) == [3])
    var facts = stat()
    #expect(stat(folder + "/f", &facts) == 0)
    #expect(facts.st_mode & 0o777 == 0o644)
    #expect(throws: VaultError.self) { try PublicFile.write([3], to: folder + "/none/f") }
    #expect(throws: VaultError.self) { try PublicFile.read(path: folder + "/f", limit: 0) }
    unlink(folder + "/f")
    rmdir(folder)
  }

  @Test(arguments: ["path", "abstract"])
  func theServiceManagerIsTold(kind: String) throws {
    let folder = Shell.folder()
    let name = kind == "path" ? folder + "/notify" : "@vault-cli-test-\(getpid())"
    let descriptor = try #require(Self.datagramSocket(boundTo: name))
    defer { close(descriptor) }
    #expect(ServiceManager.notify("READY=1", socketPath: name))
    var buffer = [UInt8](repeating: 0, count: 100)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    #expect(Array(buffer.prefix(max(0, count))) == Array("READY=1".utf8))
    unlink(name)
    rmdir(folder)
  }

  @Test func withoutAServiceManagerNothingIsSent() {
    #expect(!ServiceManager.notify("READY=1", socketPath: nil))
    #expect(!ServiceManager.notify("READY=1", socketPath: ""))
    #expect(!ServiceManager.notify("READY=1", socketPath: "relative"))
    #expect(!ServiceManager.notify("READY=1", socketPath: "/" + String(repeating: "x", count: 200)))
  }

  private static func datagramSocket(boundTo name: String) -> Int32? {
    var bytes = Array(name.utf8)
    if name.hasPrefix("@") { bytes[0] = 0 } else { bytes.append(0) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let header = MemoryLayout<sockaddr_un>.size - MemoryLayout.size(ofValue: address.sun_path)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    let bound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(header + bytes.count))
      }
    }
    return bound == 0 ? descriptor : nil
  }
}
