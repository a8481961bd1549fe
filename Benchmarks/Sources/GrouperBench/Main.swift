import Foundation

/// `grouper-bench`: what groups cost. Prints one line of JSON for each measurement.
@main
struct GrouperBench {
  static let usage = """
    usage: grouper-bench COMMAND [--OPTION VALUE]…

    On running servers, whose addresses --servers names, separated by commas:
      transfer   time of uploading and downloading messages: --threshold 2 --sufficient 3
                 --messages 1 --bytes 323 --rounds 5 --folder FOLDER
      group      a group of --members 100 that make --messages 100 each; --readers 2 of
                 them take all: --threshold 2 --sufficient 3 --bytes 323 --folder FOLDER

    On virtual time, without servers:
      equations  how many messages the thesis's equations say, and how many are counted
      crowd      --members 100 that make --messages 100 each
      years      --members 10 make --messages 1000000 in all, --rate 100 each in a time
                 to live, of --objects 200, and are offline by chance
    """

  static func main() async {
    do {
      let given = try Options(Array(CommandLine.arguments.dropFirst()))
      switch given.command {
      case "transfer": try await Transfers.run(given)
      case "group": try await Transfers.group(given)
      case "equations": for scenario in Equations.scenarios { try print(Equations.run(scenario)) }
      case "crowd": try print(LongRuns.crowd(given.number("members", 100), given.number("messages", 100)))
      case "years":
        try print(
          LongRuns.years(
            given.number("members", 10), messages: given.number("messages", 1_000_000),
            perPeriod: given.number("rate", 100), objects: given.number("objects", 200)))
      default: throw Options.Mistake(words: "name a command")
      }
    } catch let error as Options.Mistake {
      FileHandle.standardError.write(Data((error.words + "\n\n" + usage + "\n").utf8))
      exit(2)
    } catch {
      FileHandle.standardError.write(Data("grouper-bench: \(error)\n".utf8))
      exit(1)
    }
  }

  /// One line of JSON.
  static func print(_ value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    FileHandle.standardOutput.write(try encoder.encode(value) + Data("\n".utf8))
  }
}

/// What the command line says.
struct Options {
  struct Mistake: Error { let words: String }

  let command: String
  private var values: [String: String] = [:]

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    command = rest.popFirst() ?? ""
    while let option = rest.popFirst() {
      guard option.hasPrefix("--"), let value = rest.popFirst() else { throw Mistake(words: "what is \(option)?") }
      values[String(option.dropFirst(2))] = value
    }
  }

  func text(_ name: String) throws -> String {
    guard let value = values[name] else { throw Mistake(words: "--\(name) is missing") }
    return value
  }

  func number(_ name: String, _ usual: Int) throws -> Int {
    guard let text = values[name] else { return usual }
    guard let number = Int(text), number > 0 else { throw Mistake(words: "--\(name) \(text) is not understood") }
    return number
  }

  /// The servers' addresses.
  func servers() throws -> [String] { try text("servers").split(separator: ",").map(String.init) }
}
