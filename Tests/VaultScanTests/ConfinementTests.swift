import Foundation
import Testing

@Suite("Before it looks at a picture, vault-scan")
struct ConfinementTests {
  @Test("limits its memory, time and privileges, and ends in good order when its time is up")
  func limits() throws {
    let process = Process()
    process.executableURL = try Scan.program()
    process.arguments = ["-"]
    let (input, complaint) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardError = complaint
    try process.run()
    // It waits for a picture that never comes. The privileges are what it gives up last.
    let folder = "/proc/\(process.processIdentifier)"
    while process.isRunning, try !contents(folder + "/status").contains("NoNewPrivs:\t1") { usleep(1000) }

    let limits = try contents(folder + "/limits").split(separator: "\n").map {
      $0.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
    }
    #expect(limits.contains("Max address space 2147483648 2147483648 bytes"))
    #expect(limits.contains("Max cpu time 30 35 seconds"))
    #expect(limits.contains("Max core file size 0 0 bytes"))

    kill(process.processIdentifier, SIGXCPU)
    try input.fileHandleForWriting.close()
    process.waitUntilExit()
    let text = String(decoding: complaint.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    #expect(text == "vault-scan: the picture took too long\n")
    #expect(process.terminationReason == .exit)
    #expect(process.terminationStatus == 2)
  }

  private func contents(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }
}
