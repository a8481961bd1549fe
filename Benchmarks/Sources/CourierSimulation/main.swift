import Foundation

// Writes one line of CSV for each run to standard output, and what it is doing to standard error.

struct Options {
  var isSmoke = false
  var seed: UInt64 = 1
  var threads = 2
  var only: String?
}

// At once, so that a run that is stopped leaves what it has found.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

func usage() -> Never {
  FileHandle.standardError.write(
    Data("usage: CourierSimulation [--smoke] [--seed N] [--threads N] [--only TABLE]\n".utf8))
  exit(64)
}

func parsed(_ arguments: [String]) -> Options {
  var options = Options()
  var rest = arguments[...]
  while let argument = rest.popFirst() {
    switch argument {
    case "--smoke": options.isSmoke = true
    case "--seed":
      guard let value = rest.popFirst().flatMap({ UInt64($0) }) else { usage() }
      options.seed = value
    case "--threads":
      guard let value = rest.popFirst().flatMap({ Int($0) }), value > 0 else { usage() }
      options.threads = value
    case "--only":
      guard let value = rest.popFirst() else { usage() }
      options.only = value
    default: usage()
    }
  }
  return options
}

let options = parsed(Array(CommandLine.arguments.dropFirst()))
let experiments = Experiments(isSmoke: options.isSmoke, seed: options.seed)
say(Experiments.heading)
for experiment in experiments.all where options.only.map({ experiment.name == $0 }) ?? true {
  let started = ContinuousClock.now
  let (trace, messages) = experiments.prepared(experiment)
  say(
    "# \(experiment.name) people=\(trace.people) seconds=\(trace.seconds) meetings=\(trace.meetings)"
      + " contacts=\(trace.contacts.count) visits=\(trace.visits.count) messages=\(messages.count)"
      + " seconds-to-move=\(started.duration(to: .now))")
  await withTaskGroup(of: (Int, String).self) { group in
    var waiting = Array(experiment.runs.enumerated())[...]
    var lines: [Int: String] = [:]
    func start() {
      guard let (index, run) = waiting.popFirst() else { return }
      group.addTask { (index, experiments.line(run, trace, messages)) }
    }
    for _ in 0..<options.threads { start() }
    var printed = 0
    for await (index, line) in group {
      lines[index] = line
      while let line = lines.removeValue(forKey: printed) {
        say(line)
        printed += 1
      }
      start()
    }
  }
}
