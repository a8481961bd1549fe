import Glibc
import Logging
import PeerAuth
import SecretVault

/// `pipeline-bench`: the program's own way of a file into fragments and back, without peers, one process for each direction.
///
///     pipeline-bench share FILE FOLDER t n
///     pipeline-bench recover FOLDER OUT --without 1,2
///
/// Prints one line of JSON: seconds since the start until all was processed and until it was durable, CPU seconds, peak MiB.
/// The shares lie beside the fragments in FOLDER, so FILE must be worth nothing.
@main
struct PipelineBench {
  static func main() async {
    let watch = Stopwatch()
    do {
      try await run(Array(CommandLine.arguments.dropFirst()), watch)
      print(watch.report())
    } catch let usage as Usage {
      complain(usage.text)
      exit(64)
    } catch {
      complain("error: \(error)")
      exit(1)
    }
  }

  private static func run(_ arguments: [String], _ watch: Stopwatch) async throws {
    switch arguments.first {
    case "share":
      guard arguments.count == 5, let threshold = Int(arguments[3]), let count = Int(arguments[4]) else {
        throw Usage()
      }
      let pipeline = try LocalPipeline(folder: arguments[2]) { watch.reached($0) }
      try pipeline.share(arguments[1], threshold: threshold, count: count)
    case "recover":
      guard arguments.count == 3 || (arguments.count == 5 && arguments[3] == "--without") else { throw Usage() }
      let missing = arguments.count == 5 ? arguments[4].split(separator: ",").map { Int($0) } : []
      guard !missing.contains(nil) else { throw Usage() }
      let pipeline = try LocalPipeline(folder: arguments[1]) { watch.reached($0) }
      try await pipeline.recover(
        to: arguments[2], missing: Set(missing.compactMap { $0 }), environment: environment())
    default: throw Usage()
    }
  }

  /// As in the program; nobody is ever dialled.
  private static func environment() -> VaultEnvironment {
    VaultEnvironment(
      now: { 0 }, monotonic: { Stopwatch.now() * 1000 }, sleep: { try await Task.sleep(for: $0) },
      log: Logger(label: "pipeline-bench"),
      connect: { (_) throws(TransportError) in throw .unreachable("nobody is there") })
  }

  private static func complain(_ text: String) { _ = write(STDERR_FILENO, text + "\n", text.utf8.count + 1) }

  private struct Usage: Error {
    let text = "usage: pipeline-bench share FILE FOLDER t n\n       pipeline-bench recover FOLDER OUT [--without 1,2]"
  }
}
