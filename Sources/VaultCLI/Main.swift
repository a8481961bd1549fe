import ArgumentParser
import Dispatch
import Glibc
import SecretVault

/// Where the program starts: it protects the process, reads the arguments, runs the command, and ends with its code.
@main
enum Main {
  static func main() {
    ProcessHardening.apply()
    let arguments = Array(CommandLine.arguments.dropFirst())
    let command: any ParsableCommand
    do {
      command = try Root.parseAsRoot(arguments)
    } catch {
      exit(report(error, Invocation.console(of: arguments)))
    }
    Interruption.start()
    exit(finish(command, Invocation.console(of: arguments)))
  }

  /// Runs a command to its end. The first thread only waits: a dispatch main loop would end it, and with it `/proc/self`.
  private static func finish(_ command: any ParsableCommand, _ console: Console) -> Int32 {
    guard command is any AsyncParsableCommand else {
      var command = command
      do { try command.run() } catch { return report(error, console) }
      return ExitCodes.done
    }
    let run = AsynchronousRun(command)
    let ended = DispatchSemaphore(value: 0)
    Task.detached {
      await run.toItsEnd(console)
      ended.signal()
    }
    ended.wait()
    ProgressLine.clear()
    return run.code
  }

  /// A command and its exit code, written by one task and read after it has ended.
  private final class AsynchronousRun: @unchecked Sendable {
    private let command: any ParsableCommand
    private(set) var code = ExitCodes.other

    init(_ command: any ParsableCommand) { self.command = command }

    func toItsEnd(_ console: Console) async {
      do {
        if var command = command as? any AsyncParsableCommand { try await command.run() }
        code = ExitCodes.done
      } catch {
        code = report(error, console)
      }
    }
  }

  /// Says what went wrong, and with which code to end.
  fileprivate static func report(_ error: any Error, _ console: Console) -> Int32 {
    switch error {
    case let code as ExitCode: return code.rawValue
    case let error as VaultError:
      console.error(error)
      return ExitCodes.code(of: error.code)
    case is CancellationError:
      console.error(VaultError(.interrupted, "interrupted"))
      return ExitCodes.interrupted
    default: break
    }
    if Root.exitCode(for: error) == .success {
      // Help, version, completion scripts: these are results.
      try? Console.write(Root.fullMessage(for: error) + "\n", to: STDOUT_FILENO)
      return ExitCodes.done
    }
    let usage = Invocation.usageError(message: Root.message(for: error), full: Root.fullMessage(for: error))
    console.error(usage)
    return Root.exitCode(for: error).rawValue
  }
}
