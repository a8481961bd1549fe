import ChatServers
import Foundation

/// `courier-latency`: how long a message takes, directly, through a real server of XMPP, and by a carrier. Prints a table of milliseconds: a row
/// for each round, a column for each way.
@main
struct CourierLatency {
  static let usage = """
    usage: courier-latency --folder FOLDER [--rounds 200] [--bytes 100] [--pause 2600]

    Starts ejabberd on loopback, makes vaults in FOLDER, and sends a message of --bytes bytes each way in every round,
    in an order that is drawn anew and with a pause before each. A round takes --pause milliseconds at least: vaults write 60 lines a minute of
    a peer, two for each meeting, and these stop the watch.
    """

  static func main() async {
    do {
      let given = try Options(Array(CommandLine.arguments.dropFirst()))
      try await run(given)
      end(0)
    } catch let error as Options.Mistake {
      FileHandle.standardError.write(Data((error.words + "\n\n" + usage + "\n").utf8))
      end(2)
    } catch {
      Complaint.say("\(error)")
      end(1)
    }
  }

  /// Without handlers of the end: OpenSSL's takes away what connections' threads use.
  private static func end(_ code: Int32) -> Never {
    fflush(nil)
    _exit(code)
  }

  private static func run(_ given: Options) async throws {
    let server = try ChatServer.shared(.ejabberd)
    defer { server.remove() }
    let ways: [any Way] = [
      try await SessionLink(), try await ServerLink(server), try await PlainLink(server),
      try await DirectVaults(server, in: given.folder), try await ServerVaults(server, in: given.folder),
      try await MeetingVaults(in: given.folder), try await CarrierVaults(in: given.folder),
      try await ServerDaemons(server, in: given.folder),
    ]
    // The first ones fill caches, and aren't measured.
    for _ in 0..<min(5, given.rounds) { for way in ways { _ = try await way.send(Letter.text(given.byteCount)) } }
    print((["round"] + ways.map(\.name)).joined(separator: ","))
    for round in 1...given.rounds {
      let began = Stopwatch.now()
      var times: [String: Double] = [:]
      for way in ways.shuffled() {
        // What follows a message, receipts and the server's archive, isn't measured with the next one.
        try await Task.sleep(for: .milliseconds(150))
        let (sent, arrived) = try await way.send(Letter.text(given.byteCount))
        times[way.name] = arrived - sent
      }
      let cells = ways.map { String(format: "%.3f", (times[$0.name] ?? 0) * 1000) }
      print(([String(round)] + cells).joined(separator: ","))
      try await Task.sleep(for: .seconds(max(0, began + given.pause - Stopwatch.now())))
    }
  }
}

/// What the command line says.
private struct Options {
  struct Mistake: Error { let words: String }

  let folder: String
  var rounds = 200
  var byteCount = 100
  /// Seconds.
  var pause = 2.6

  init(_ arguments: [String]) throws {
    var folder: String?
    var rest = arguments[...]
    while let option = rest.popFirst() {
      guard let value = rest.popFirst() else { throw Mistake(words: "\(option) needs a value") }
      let number = Int(value).flatMap { $0 > 0 ? $0 : nil }
      switch (option, number) {
      case ("--folder", _): folder = value
      case ("--rounds", let number?): rounds = number
      case ("--bytes", let number?): byteCount = number
      case ("--pause", let number?): pause = Double(number) / 1000
      default: throw Mistake(words: "\(option) \(value) isn't understood")
      }
    }
    guard let folder else { throw Mistake(words: "--folder is missing") }
    self.folder = folder
  }
}

extension ChatServer {
  /// Ends it, with all that it has kept.
  fileprivate func remove() {
    kill()
    try? FileManager.default.removeItem(atPath: folder)
  }
}
