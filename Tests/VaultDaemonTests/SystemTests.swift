import Concurrency
import Glibc
import PeerAuth
import SecretVault
import Testing

@testable import VaultDaemon

@Suite("Processes, connections and the service manager")
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

  @Test(arguments: ["exec sleep 600 >&- 2>&-", "sleep 600 >&- 2>&- & exec sleep 600 >&- 2>&-"])
  func aChildThatClosesItsOutputAndGoesOnIsStoppedInTime(script: String) {
    let child = ChildProcess(path: "/bin/sh", arguments: ["sh", "-c", script], timeLimit: 300)
    let error = #expect(throws: VaultError.self) { try child.run() }
    #expect(error?.reason == "sh did not finish in 0.3 seconds")
  }

  @Test func aChildMayCloseItsOutputAndEndALittleLater() throws {
    let script = "echo out; exec >&- 2>&-; sleep 0.2; exit 5"
    let outcome = try ChildProcess(path: "/bin/sh", arguments: ["sh", "-c", script]).run()
    #expect(outcome.status == 5)
    #expect(outcome.output == Array("out\n".utf8))
  }

  @Test func aChildKeepsWhatItsCallerIgnoresAndGetsTheRestBack() throws {
    let before = signal(SIGUSR2, SIG_IGN)
    defer { signal(SIGUSR2, before) }
    let outcome = try ChildProcess(path: "/bin/sh", arguments: ["sh", "-c", "grep SigIgn /proc/self/status"]).run()
    let text = String(decoding: outcome.output, as: UTF8.self)
    let mask = try #require(UInt64(text.filter { $0.isHexDigit }.suffix(16), radix: 16))
    #expect(mask & (1 << UInt64(SIGUSR2 - 1)) != 0)
    #expect(mask & (1 << UInt64(SIGPIPE - 1)) == 0)
  }

  @Test(
    arguments: [
      (20_000, 1024, 256), (2176, 1024, 256), (1024, 448, 256), (512, 192, 192), (300, 86, 86), (128, 1, 1), (0, 1, 1),
      (Int.max, 1024, 256),
    ])
  func theDaemonsConnectionsFitIntoItsDescriptors(descriptors: Int, total: Int, perAddress: Int) {
    let limits = DescriptorLimit.connections(within: descriptors)
    #expect(limits.total == total && limits.perAddress == perAddress)
  }

  @Test(
    arguments: [
      (EADDRINUSE, "another daemon"), (EADDRNOTAVAIL, "no such address"), (EACCES, "1024"), (ENETDOWN, "--listen"),
    ])
  func whatCannotBeListenedOnIsExplained(number: Int32, hint: String) {
    let words = SystemError.text(number)
    let reason = words.prefix(1).lowercased() + words.dropFirst()
    let error = PeerListener.failure(.unreachable(reason), at: ("127.0.0.1", 4721))
    #expect(error.reason == "cannot listen on 127.0.0.1:4721: \(reason)")
    #expect(error.hint?.contains(hint) == true, "\(error)")
  }

  @Test(arguments: ["path", "abstract"])
  func theServiceManagerIsTold(kind: String) throws {
    let folder = try TestFolder()
    defer { folder.remove() }
    let name = kind == "path" ? folder.path + "/notify" : "@vault-daemon-test-\(getpid())"
    let descriptor = try #require(Self.datagramSocket(boundTo: name))
    defer { close(descriptor) }
    #expect(ServiceManager.notify("READY=1", socketPath: name))
    var buffer = [UInt8](repeating: 0, count: 100)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    #expect(Array(buffer.prefix(max(0, count))) == Array("READY=1".utf8))
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
