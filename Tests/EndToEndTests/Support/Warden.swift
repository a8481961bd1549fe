import Glibc
import Testing

/// A shell that kills processes and removes a folder when its standard input ends: at the latest when the test program dies, however it does.
struct Warden {
  private let shell: Child

  /// Reads which processes start and end; at the end of input kills those that are left, each with its group. dash knows `--` only behind `-s`.
  private static let script = """
    left=" "
    while read -r sign process; do
      case $sign in
        +) left="$left$process " ;;
        -) left="${left%% $process *} ${left#* $process }" ;;
      esac
    done
    for process in $left; do kill -s KILL -- "-$process"; done
    rm -rf -- "$1"
    """

  init(_ folder: String) throws {
    shell = try Child(
      Child.Start(
        program: "/bin/sh", arguments: ["-c", Self.script, "sh", folder], environment: Bench.environment,
        folder: "/", input: .pipe, outputPath: "/dev/null", complaintPath: "/dev/null"))
  }

  func started(_ process: pid_t) { tell("+ \(process)\n") }

  func ended(_ process: pid_t) { tell("- \(process)\n") }

  private func tell(_ line: String) {
    let line = Array(line.utf8)
    _ = write(shell.pipe, line, line.count)
  }

  /// Ends it.
  func end() async {
    shell.closeInput()
    _ = try? await shell.end(within: 90)
  }
}
