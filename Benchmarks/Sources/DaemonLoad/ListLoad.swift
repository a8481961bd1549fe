import Foundation
import Glibc
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

  /// Milliseconds from start to end of a process that writes to a file. Foundation's `Process` looks for the end of a child
  /// every tenth of a second only.
  private func time(_ arguments: [String], into path: String) throws -> Double {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    var words: [UnsafeMutablePointer<CChar>?] = ([options.program] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var child: pid_t = 0
    var status: Int32 = 0
    let started = ContinuousClock.now
    guard posix_spawn(&child, options.program, &actions, nil, &words, environ) == 0,
      waitpid(child, &status, 0) == child
    else { throw DaemonProcess.Failure(words: "vault list could not be started") }
    let time = (ContinuousClock.now - started) / .milliseconds(1)
    guard status == 0 else { throw DaemonProcess.Failure(words: "vault list failed") }
    return time
  }
}
