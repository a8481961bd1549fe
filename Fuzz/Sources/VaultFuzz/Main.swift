import CFuzzer
import Glibc

/// The fuzzer's program: `vault-fuzz TARGET [libFuzzer's arguments]`, or one of the words below.
@main
struct Main {
  /// The target that libFuzzer's callback runs. Set once, before the fuzzer begins.
  nonisolated(unsafe) private static var chosen: FuzzTarget?

  static func main() {
    let arguments = CommandLine.arguments.dropFirst()
    switch (arguments.first, arguments.count) {
    case ("list", 1): for target in FuzzTarget.all { print(target.name) }
    case ("replay", 2): exit(Corpus.replay(arguments.last ?? "") ? 0 : 1)
    case ("corpus", 2): Corpus.write(arguments.last ?? "")
    default:
      if let target = FuzzTarget.all.first(where: { $0.name == arguments.first }) {
        chosen = target
        exit(fuzz(target))
      }
      print("usage: VaultFuzz list | replay CORPUS | corpus CORPUS | TARGET [libFuzzer's arguments]")
      exit(64)
    }
  }

  /// libFuzzer sees the arguments behind the target's name, and the target's limits in front of them.
  private static func fuzz(_ target: FuzzTarget) -> Int32 {
    let limits = [
      "-max_len=\(target.byteLimit)", "-malloc_limit_mb=\(target.allocationLimit)",
      "-rss_limit_mb=\(target.memoryLimit)",
      "-timeout=10",
    ]
    // libFuzzer keeps pointers to its arguments.
    let texts = [CommandLine.arguments[0]] + limits + CommandLine.arguments.dropFirst(2)
    let strings = UnsafeMutableBufferPointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: texts.count + 1)
    _ = strings.initialize(from: texts.map { strdup($0) } + [nil])
    var count = Int32(texts.count)
    var arguments = strings.baseAddress
    return LLVMFuzzerRunDriver(&count, &arguments) { data, size in
      _ = try? Main.chosen?.run(Array(UnsafeBufferPointer(start: data, count: size)))
      return 0
    }
  }
}
