import Foundation

/// Measures a built `vault`: sessions that its daemon answers, its memory while many are connected, and long lists.
@main
struct Main {
  static let usage = """
    usage: daemon-load MEASUREMENT --vault PROGRAM [--json] [OPTION NUMBER]…

    measurements:
      sessions   full request sessions per CPU second of the daemon
                 (--secrets 1000, --sessions 4000, --connections 8)
      memory     peak memory of the daemon with peers connected and depositing
                 (--peers 255, --deposits 32, --mebibytes 8)
      list       wall time of `vault list` and `vault list --json`
                 (--secrets 100000, --runs 7)

    --directory PATH says where homes are made; by default in /dev/shm, so that
    making them doesn't wait for a disk.
    """

  static func main() async {
    do {
      let options = try Options(Array(CommandLine.arguments.dropFirst()))
      let lines: [Figure] =
        switch options.measurement {
        case .sessions: try await SessionLoad(options).run()
        case .memory: try await MemoryLoad(options).run()
        case .list: try ListLoad(options).run()
        }
      print(options.json ? Figure.json(lines) : Figure.table(lines))
    } catch let error as Options.Mistake {
      FileHandle.standardError.write(Data((error.words + "\n\n" + usage + "\n").utf8))
      exit(2)
    } catch {
      FileHandle.standardError.write(Data("daemon-load: \(error)\n".utf8))
      exit(1)
    }
  }
}

/// What the command line says.
struct Options {
  enum Measurement: String { case sessions, memory, list }
  struct Mistake: Error { let words: String }

  let measurement: Measurement
  let program: String
  var json = false
  var directory = "/dev/shm"
  private var numbers: [String: Int] = [:]
  private static let names: Set = [
    "secrets", "sessions", "connections", "peers", "deposits", "mebibytes", "runs",
  ]

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    guard let first = rest.popFirst(), let measurement = Measurement(rawValue: first) else {
      throw Mistake(words: "name a measurement")
    }
    self.measurement = measurement
    var program: String?
    while let option = rest.popFirst() {
      if option == "--json" {
        json = true
        continue
      }
      guard option.hasPrefix("--"), let value = rest.popFirst() else { throw Mistake(words: "what is \(option)?") }
      let name = String(option.dropFirst(2))
      switch name {
      case "vault": program = value
      case "directory": directory = value
      default:
        guard Self.names.contains(name), let number = Int(value), (1...1_000_000).contains(number) else {
          throw Mistake(words: "\(option) \(value) is not understood")
        }
        numbers[name] = number
      }
    }
    guard let program else { throw Mistake(words: "--vault says which program to measure") }
    self.program = program
  }

  func number(_ name: String, _ usual: Int) -> Int { numbers[name] ?? usual }
}

/// A measured number with its unit, and the bound that it is held against, if there is one.
struct Figure {
  let name: String
  let value: Double
  let unit: String
  var bound: String?

  static func table(_ figures: [Figure]) -> String {
    let width = figures.map(\.name.count).max() ?? 0
    return figures.map { figure in
      let name = figure.name + String(repeating: " ", count: width - figure.name.count)
      let number = String(format: "%10.1f", figure.value)
      return "\(name)  \(number) \(figure.unit)" + (figure.bound.map { "  (\($0))" } ?? "")
    }.joined(separator: "\n")
  }

  static func json(_ figures: [Figure]) -> String {
    let entries = figures.map { figure in
      #"{"name":"\#(figure.name)","value":\#(String(format: "%.3f", figure.value)),"unit":"\#(figure.unit)","#
        + #""bound":\#(figure.bound.map { "\"\($0)\"" } ?? "null")}"#
    }
    return "[" + entries.joined(separator: ",") + "]"
  }
}
