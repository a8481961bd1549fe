import Foundation

/// A running `vault daemon`, and what the kernel says about it.
final class DaemonProcess {
  struct Failure: Error { let words: String }

  /// Where it listens.
  let host: String
  let port: Int
  private let process = Process()
  private let output = Pipe()

  init(_ program: String, home: String) throws {
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = ["daemon", "--quiet", "--listen", "127.0.0.1:0", "--home", home]
    process.standardOutput = output
    process.standardError = FileHandle(forWritingAtPath: home + "/daemon.log") ?? FileHandle.nullDevice
    try process.run()
    var text = ""
    while !text.contains("\n") {
      let bytes = output.fileHandleForReading.availableData
      guard !bytes.isEmpty else { throw Failure(words: "the daemon did not start") }
      text += String(decoding: bytes, as: UTF8.self)
    }
    guard let colon = text.lastIndex(of: ":"),
      let port = Int(text[text.index(after: colon)...].trimmingCharacters(in: .whitespacesAndNewlines))
    else { throw Failure(words: "the daemon said: \(text)") }
    host = "127.0.0.1"
    self.port = port
  }

  var processID: Int32 { process.processIdentifier }

  /// Its own CPU time so far, in seconds: user and system.
  func cpuSeconds() throws -> Double {
    let text = try String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8)
    // Behind the program's name, which may hold anything, the numbers start with the state, field 3.
    guard let end = text.lastIndex(of: ")") else { throw Failure(words: "no CPU time") }
    let fields = text[text.index(after: end)...].split(separator: " ")
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
      throw Failure(words: "no CPU time")
    }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  /// A line of its status in KiB, such as `VmHWM`: the most memory that it has ever had.
  func status(_ name: String) throws -> Double {
    for line in try String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8).split(separator: "\n")
    where line.hasPrefix(name + ":") {
      let digits = line.filter(\.isNumber)
      if let value = Double(digits) { return value }
    }
    throw Failure(words: "no \(name)")
  }

  /// Ends it in order and waits for that.
  func stop() {
    process.terminate()
    process.waitUntilExit()
  }
}
