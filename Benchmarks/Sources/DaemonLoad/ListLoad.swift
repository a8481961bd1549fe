import Foundation
import Sodium

/// `vault list` of very many secrets, as whole processes.
struct ListLoad {
  private let options: Options

  init(_ options: Options) { self.options = options }

  func run() throws -> [Figure] {
    let home = try LoadHome(in: options.directory, peers: 10)
    defer { home.remove() }
    let count = options.number("secrets", 100_000)
    for number in 0..<count {
      let dealer = home.people[number % 10]
      let dealt = try home.deal(number, dealer: dealer, requester: home.people[(number + 1) % 10])
      try home.store(dealt, from: dealer, at: 1_700_000_000_000 + Int64(number))
    }
    return try [
      figure("vault list of \(count) secrets", home, ["list"]),
      figure("vault list --json of \(count) secrets", home, ["list", "--json"]),
    ]
  }

  private func figure(_ name: String, _ home: LoadHome, _ arguments: [String]) throws -> Figure {
    var times: [Double] = []
    for _ in 0..<options.number("runs", 7) {
      times.append(try time(arguments + ["--home", home.path], into: home.path + "/list.out"))
    }
    times.sort()
    return Figure(name: name, value: times[times.count / 2], unit: "ms", bound: "at most 100")
  }

  /// Milliseconds from start to end of a process that writes to a file.
  private func time(_ arguments: [String], into path: String) throws -> Double {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: options.program)
    process.arguments = arguments
    FileManager.default.createFile(atPath: path, contents: nil)
    process.standardOutput = FileHandle(forWritingAtPath: path)
    let started = ContinuousClock.now
    try process.run()
    process.waitUntilExit()
    let time = (ContinuousClock.now - started) / .milliseconds(1)
    guard process.terminationStatus == 0 else { throw DaemonProcess.Failure(words: "vault list failed") }
    return time
  }
}
