import Glibc

/// `micro-bench SECONDS`: the parts by themselves, each for so many seconds. One line of JSON for each.
@main
struct MicroBench {
  static func main() async {
    guard CommandLine.arguments.count == 2, let seconds = Double(CommandLine.arguments[1]), seconds > 0 else {
      complain("usage: micro-bench SECONDS")
      exit(64)
    }
    let clock = PartTimer(seconds: seconds)
    do {
      try KeyParts.measure(3, 5, clock)
      try KeyParts.measure(128, 255, clock)
      try ProofParts.measure(clock)
      try await SessionParts.measure(clock)
      try DataParts.measure(clock)
    } catch {
      complain("error: \(error)")
      exit(1)
    }
  }

  private static func complain(_ text: String) { _ = write(STDERR_FILENO, text + "\n", text.utf8.count + 1) }
}
