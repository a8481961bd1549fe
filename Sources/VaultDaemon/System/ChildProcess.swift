package import Glibc
import SecretVault

/// A program run with bytes on its standard input, its standard output collected, within a time and a size.
package struct ChildProcess {
  package struct Outcome {
    /// The exit code, or 128 and the signal's number.
    package let status: Int32
    package let output: [UInt8]
    /// What it wrote to standard error.
    package let complaints: [UInt8]
  }

  private let path: String
  private let arguments: [String]
  private let outputLimit: Int
  private let timeLimit: Int64
  private let inputDescriptor: Int32?
  private let holdsInput: Bool

  /// - Parameters:
  ///   - path: of the program.
  ///   - arguments: the name first.
  ///   - outputLimit: bytes of output that are kept of each stream; a program that writes more is killed.
  ///   - timeLimit: milliseconds it may take.
  ///   - inputDescriptor: the descriptor that is its standard input, instead of bytes.
  ///   - holdsInput: whether its standard input stays open until it has ended, or this process has.
  package init(
    path: String, arguments: [String], outputLimit: Int = 1 << 20, timeLimit: Int64 = 30_000,
    inputDescriptor: Int32? = nil, holdsInput: Bool = false
  ) {
    self.path = path
    self.arguments = arguments
    self.outputLimit = outputLimit
    self.timeLimit = timeLimit
    self.inputDescriptor = inputDescriptor
    self.holdsInput = holdsInput
  }

  /// Runs it to its end. It inherits nothing but the three standard descriptors and the environment.
  package func run(input: [UInt8] = []) throws -> Outcome {
    var pipes = Pipes()
    guard pipes.open() else {
      pipes.closeAll()
      throw VaultError(.inputOutput, "cannot start \(path): \(SystemError.text(errno))")
    }
    let process: pid_t
    do {
      process = try Self.spawn(
        path, arguments,
        standard: [inputDescriptor ?? pipes.input.read, pipes.output.write, pipes.errors.write])
    } catch {
      pipes.closeAll()
      throw error
    }
    pipes.closeChildEnds()
    let end = Clocks.milliseconds() + timeLimit
    let exchange = exchange(&pipes, input: input, until: end)
    pipes.closeAll()
    // It may have closed its output and go on.
    if exchange.failure == nil, let status = Self.reap(process, until: end) {
      return Outcome(status: Self.exitCode(status), output: exchange.output, complaints: exchange.complaints)
    }
    kill(-process, SIGKILL)
    // Nothing outlives that signal; only a process in the middle of a dead disk's work keeps it waiting.
    _ = Self.reap(process, until: Clocks.milliseconds() + 2000)
    throw VaultError(.other, "\(arguments.first ?? path) \(exchange.failure ?? tooLate)")
  }

  private var tooLate: String {
    let tenths = (timeLimit + 50) / 100
    return "did not finish in \(tenths / 10).\(tenths % 10) seconds"
  }

  /// Waits for the end of a child, but not for ever. Nil if it has not ended.
  package static func reap(_ process: pid_t, until end: Int64) -> Int32? {
    var pause: UInt32 = 500
    while true {
      var status: Int32 = 0
      let ended = waitpid(process, &status, WNOHANG)
      if ended == process { return status }
      guard ended == 0 || errno == EINTR, Clocks.milliseconds() < end else { return nil }
      usleep(pause)
      pause = min(pause * 2, 20_000)
    }
  }

  /// Writes the input and reads both outputs, whichever is possible, until the outputs end.
  private func exchange(
    _ pipes: inout Pipes, input: [UInt8], until end: Int64
  ) -> (output: [UInt8], complaints: [UInt8], failure: String?) {
    var sent = 0
    var collected: [[UInt8]] = [[], []]
    if input.isEmpty && !holdsInput { pipes.input.closeWrite() }
    while pipes.output.read >= 0 || pipes.errors.read >= 0 {
      let left = end - Clocks.milliseconds()
      guard left > 0 else { return ([], [], tooLate) }
      var waiting = [
        pollfd(fd: pipes.output.read, events: Int16(POLLIN), revents: 0),
        pollfd(fd: pipes.errors.read, events: Int16(POLLIN), revents: 0),
        pollfd(fd: sent < input.count ? pipes.input.write : -1, events: Int16(POLLOUT), revents: 0),
      ]
      guard poll(&waiting, 3, Int32(clamping: left)) > 0 else { continue }
      if waiting[2].revents != 0 {
        sent = Self.send(input, from: sent, to: pipes.input.write)
        if sent >= input.count && !holdsInput { pipes.input.closeWrite() }
      }
      for stream in 0...1 where waiting[stream].revents != 0 {
        let more = Self.receive(waiting[stream].fd)
        collected[stream] += more
        guard collected[stream].count <= outputLimit else { return ([], [], "wrote too much") }
        if more.isEmpty {
          if stream == 0 { pipes.output.closeRead() } else { pipes.errors.closeRead() }
        }
      }
    }
    return (collected[0], collected[1], nil)
  }

  /// Where the next write starts; the end if nobody reads any more.
  private static func send(_ bytes: [UInt8], from start: Int, to descriptor: Int32) -> Int {
    let written = bytes.withUnsafeBytes { buffer in
      write(descriptor, buffer.baseAddress?.advanced(by: start), min(buffer.count - start, 65536))
    }
    if written >= 0 { return start + written }
    return errno == EINTR || errno == EAGAIN ? start : bytes.count
  }

  /// What there is to read, or none at the end: a signal is no end.
  package static func receive(_ descriptor: Int32, atMost limit: Int = 65536) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      var got = 0
      repeat { got = read(descriptor, buffer.baseAddress, buffer.count) } while got < 0 && errno == EINTR
      count = max(0, got)
    }
  }

  /// The exit code that a shell would report.
  package static func exitCode(_ status: Int32) -> Int32 {
    let signal = status & 0x7F
    return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
  }
}
