import CShims
import Foundation
import QRCode
import Testing

@Suite("Before it looks at a picture, vault-scan")
struct ConfinementTests {
  @Test("limits its memory, time and privileges, filters its system calls, and ends in good order when its time is up")
  func limits() throws {
    let process = Process()
    process.executableURL = try Scan.program()
    process.arguments = ["-"]
    let (input, complaint) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardError = complaint
    try process.run()
    // It waits for a picture that never comes. The filter comes last.
    let folder = "/proc/\(process.processIdentifier)"
    while process.isRunning, try !contents(folder + "/status").contains("Seccomp:\t2") { usleep(1000) }

    let status = try contents(folder + "/status")
    #expect(status.contains("NoNewPrivs:\t1"))
    // Filter, Landlock and capabilities are a thread's own: there must be no other one.
    #expect(status.contains("Threads:\t1\n"))
    for kind in ["CapInh", "CapPrm", "CapEff"] { #expect(status.contains("\(kind):\t0000000000000000")) }
    let limits = try contents(folder + "/limits").split(separator: "\n").map {
      $0.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
    }
    #expect(limits.contains("Max address space 2147483648 2147483648 bytes"))
    #expect(limits.contains("Max cpu time 30 35 seconds"))
    #expect(limits.contains("Max core file size 0 0 bytes"))
    #expect(limits.contains("Max processes 0 0 processes"))
    #expect(limits.contains("Max open files 2 2 files"))

    kill(process.processIdentifier, SIGXCPU)
    try input.fileHandleForWriting.close()
    process.waitUntilExit()
    let text = String(decoding: complaint.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    #expect(text == "vault-scan: the picture took too long\n")
    #expect(process.terminationReason == .exit)
    #expect(process.terminationStatus == 2)
  }

  @Test("leaves a network that the caller may have for one of its own")
  func network() throws {
    let strength = try Scan(arguments: ["--confinement"])
    #expect(strength.status == 0)
    #expect(strength.output.contains("system calls: only those that decoding needs\n"))
    #expect(strength.output.contains("(Landlock \(vault_landlock_version()))") == (vault_landlock_version() > 0))
    #expect(strength.output.contains("network: "))
  }

  @Test("keeps an output that is a file from growing without end, and says when it can't write")
  func fileLimit() throws {
    try Scan.withFile([UInt8](repeating: 0, count: 100)) { (path) throws in
      let process = Process()
      process.executableURL = try Scan.program()
      process.arguments = ["-"]
      let input = Pipe()
      process.standardInput = input
      process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
      // What this program writes to may be a longer file.
      process.standardError = FileHandle.nullDevice
      try process.run()
      let folder = "/proc/\(process.processIdentifier)"
      while process.isRunning, try !contents(folder + "/status").contains("Seccomp:\t2") { usleep(1000) }
      let limits = try contents(folder + "/limits")
      #expect(limits.contains(" \((16 << 20) + 100) "))
      try input.fileHandleForWriting.close()
      process.waitUntilExit()
      #expect(process.terminationStatus == 2)
    }
  }

  private func contents(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }
}

@Suite("A picture that has taken over the decoder")
struct IntrusionTests {
  @Test(
    "ends the process when it tries what no decoder needs",
    arguments: [
      "socket", "local socket", "execute", "fork", "thread", "kill", "trace", "prctl", "executable memory",
      "memory made executable", "mapped file", "other input", "other output", "other request", "unlink",
    ])
  func killed(attempt: String) throws {
    let scan = try intrude(attempt)
    #expect(scan.status == 128 + SIGSYS, "\(scan)")
    #expect(scan.output.isEmpty && scan.complaint.isEmpty)
  }

  @Test("opens and makes no files", arguments: ["open", "create"])
  func refused(attempt: String) throws {
    let scan = try intrude(attempt)
    #expect(scan.complaint == "\(attempt): Permission denied\n")
    #expect(scan.status == 99)
  }

  @Test("is what these tests load, and may do nothing at all")
  func harmless() throws {
    #expect(try intrude("nothing").complaint == "nothing: done\n")
  }

  @Test("reaches no file where the kernel has Landlock but no filters", .enabled(if: vault_landlock_version() > 0))
  func unfiltered() throws {
    let scan = try intrude("unlink", additions: ["INTRUDER_UNFILTERED": "1"])
    #expect(scan.complaint == "unlink: Permission denied\n")
    #expect(scan.status == 99)
    for attempt in ["open", "create"] {
      let scan = try intrude(attempt, additions: ["INTRUDER_UNFILTERED": "1"])
      #expect(scan.complaint.hasPrefix("\(attempt): ") && !scan.complaint.hasSuffix("done\n"))
    }
  }

  @Test("gets a plain sentence from vault peer scan, not a result")
  func told() throws {
    try Scan.withFile(try QRSymbol(text: "HOSTILE").png(scale: 4)) { (path) throws in
      let additions = ["LD_PRELOAD": try Preload.intruder.get(), "INTRUDER": "socket"]
      let scan = try Scan(
        arguments: ["peer", "scan", path, "--home", path + "-home"], additions: additions, program: "vault")
      #expect(scan.status == 8, "\(scan)")
      #expect(scan.output.isEmpty)
      #expect(
        scan.complaint.hasPrefix(
          "vault: the picture \(path) made vault-scan try something that it may not do, so it was stopped\nhint: "))
    }
  }

  /// Runs the program on a picture with the intruder in it. A file that it could destroy must be there afterwards.
  private func intrude(_ attempt: String, additions: [String: String] = [:]) throws -> Scan {
    let library = try Preload.intruder.get()
    return try Scan.withFile(Array("precious".utf8)) { (victim) throws in
      let all = ["LD_PRELOAD": library, "INTRUDER": attempt, "INTRUDER_FILE": victim]
      let scan = try Scan.withFile(try QRSymbol(text: "HOSTILE").png(scale: 4)) { (path) throws in
        try Scan(arguments: [path], additions: all.merging(additions) { _, new in new }, mayDie: true)
      }
      #expect(try String(contentsOfFile: victim, encoding: .utf8) == "precious")
      return scan
    }
  }
}
