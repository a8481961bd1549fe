import ArgumentParser
import CShims
import Concurrency
import Dispatch
import Glibc
import SecretVault
import VaultDaemon

/// Where the program starts: it protects the process, reads the arguments, runs the command, and ends with its code.
@main
enum Main {
  static func main() {
    vault_spare_address_space()
    require(ResourceCheck.problem())
    if CommandLine.argc == 2, CommandLine.arguments.last == "--version" { _exit(showVersion()) }
    require(ResourceCheck.threads())
    RequestArgument.take(Int(CommandLine.argc), CommandLine.unsafeArgv)
    let signals = Interruption.hold()
    ProcessHardening.apply()
    let console = Invocation.console(of: CommandLine.arguments)
    if !console.json { Screen.look() }
    let parsed = Result { try parse() }
    // What starts one in the background is none.
    let isDaemon = (try? parsed.get() as? DaemonCommand)?.background == false
    if case .success(let command) = parsed, command is ClipboardGuardCommand { ClipboardGuard.awaitSignals() }
    Interruption.start(signals, isDaemon: isDaemon, console: console)
    if let note = Invocation.line.note { console.note(note) }
    let code: Int32
    switch parsed {
    case .success(let command): code = finish(command, console)
    case .failure(let error): code = report(error, console)
    }
    Interruption.yieldIfEnding()
    // Not `exit`: what libraries have it do, such as OpenSSL, takes away what other threads still use.
    _exit(code)
  }

  private static func require(_ problem: String?) {
    guard let problem else { return }
    // Not even the arguments may be known: whatever was asked for, it was not done.
    let line = "vault: \(problem)\n"
    _ = write(STDERR_FILENO, line, line.utf8.count)
    _exit(ExitCodes.other)
  }

  /// What scripts ask first and often: without the parser, and without threads.
  private static func showVersion() -> Int32 {
    ProcessHardening.apply()
    return show(Root.version, Invocation.console(of: CommandLine.arguments))
  }

  /// The command, if it makes sense and the caller has left open what it needs.
  private static func parse() throws -> any ParsableCommand {
    try RequestArgument.check()
    let arguments = try Invocation.arguments()
    if let text = FirstScreen.answer(to: arguments) { throw WantedHelp(text: text) }
    try Invocation.checkHelp(arguments)
    let command = try Root.parseAsRoot(arguments)
    if let command = command as? any UnlockingCommand { try InheritedDescriptors.check(command) }
    return command
  }

  /// Runs a command to its end. The first thread only waits: a dispatch main loop would end it, and with it `/proc/self`.
  private static func finish(_ command: any ParsableCommand, _ console: Console) -> Int32 {
    guard Clocks.now() >= 0 else {
      return report(
        VaultError(.other, "the clock of this device says that it is before 1970", hint: "set the clock"), console)
    }
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

  /// Whether it only says that whoever read the output has had enough, as `head` has.
  private static func isOfGoneReader(_ error: VaultError) -> Bool {
    guard error.code == .inputOutput, error.reason.lowercased().contains(SystemError.text(EPIPE).lowercased()) else {
      return false
    }
    var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
    return poll(&output, 1, 0) > 0 && output.revents & Int16(POLLERR | POLLHUP) != 0
  }

  /// Says what went wrong, and with which code to end.
  fileprivate static func report(_ error: any Error, _ console: Console) -> Int32 {
    Interruption.yieldIfEnding()
    switch error {
    case let code as ExitCode: return code.rawValue
    case let choice as AmbiguousChoice:
      console.error(choice.error, list: choice.lines)
      return ExitCodes.code(of: choice.error.code)
    case let missing as MissingSubcommand:
      console.error(missing.error)
      return ExitCodes.usage
    case let help as WantedHelp: return show(help.text, console)
    default:
      guard let error = VaultError(known: error) else { break }
      // In JSON the reason has all that a reader needs.
      let list = console.json ? [] : FailedRecoveryText.lines(of: error, verbose: console.verbose)
      if !isOfGoneReader(error) { console.error(error, list: list) }
      return ExitCodes.code(of: error.code)
    }
    if Root.exitCode(for: error) == .success {
      // Help, version, completion scripts: these are results.
      return show(Root.fullMessage(for: error), console)
    }
    console.error(
      Invocation.usageError(
        message: Root.message(for: error), full: Root.fullMessage(for: error), words: Invocation.line.words))
    return Root.exitCode(for: error).rawValue
  }

  private static func show(_ text: String, _ console: Console) -> Int32 {
    do { try Console.write(text + "\n", to: STDOUT_FILENO) } catch { return report(error, console) }
    return ExitCodes.done
  }
}
