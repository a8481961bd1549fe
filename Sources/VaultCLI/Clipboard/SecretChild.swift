import Glibc
import SecretVault
import Sodium
import VaultDaemon

/// A program that is given something secret, or gives it. What it says besides goes nowhere: those that serve a clipboard stay
/// behind and would hold a pipe open.
struct SecretChild {
  let path: String
  let arguments: [String]

  /// Milliseconds that it may take.
  private static let timeLimit: Int64 = 5000

  /// Hands it `input` on its standard input and waits for its end. Returns its exit code.
  func take(_ input: borrowing SecretBytes) throws -> Int32 {
    var ends = ChildProcess.Pipes.Ends()
    guard ends.open() else { throw failure }
    defer { ends.closeWrite() }
    let process = try start(input: ends.read, output: nil)
    ends.closeRead()
    _ = fcntl(ends.write, F_SETFL, O_NONBLOCK)
    let limit = Clocks.milliseconds() + Self.timeLimit
    input.withUnsafeBytes { bytes in
      var done = 0
      while done < bytes.count, Clocks.milliseconds() < limit {
        let count = write(ends.write, bytes.baseAddress.map { $0 + done }, bytes.count - done)
        if count > 0 { done += count }
        if count < 0, errno == EPIPE { break }
        if count < 0 { Self.wait(for: ends.write, Int16(POLLOUT), until: limit) }
      }
    }
    ends.closeWrite()
    return try end(process, limit)
  }

  /// Collects its standard output in secret memory. Nil if it ended badly or wrote more than `limit` bytes.
  func output(limit: Int) throws -> SecretBytes? {
    var ends = ChildProcess.Pipes.Ends()
    guard ends.open() else { throw failure }
    defer {
      ends.closeRead()
      ends.closeWrite()
    }
    let process = try start(input: nil, output: ends.write)
    ends.closeWrite()
    _ = fcntl(ends.read, F_SETFL, O_NONBLOCK)
    let until = Clocks.milliseconds() + Self.timeLimit
    var memory = try SecretText.memory(limit + 1)
    var count = 0
    while count <= limit, Clocks.milliseconds() < until {
      let start = count
      let got = memory.withUnsafeMutableBytes { read(ends.read, $0.baseAddress.map { $0 + start }, $0.count - start) }
      if got == 0 { break }
      if got > 0 { count += got } else { Self.wait(for: ends.read, Int16(POLLIN), until: until) }
    }
    ends.closeRead()
    let status = try end(process, until)
    guard status == 0, count <= limit else { return nil }
    return try SecretText.copy(memory.bytes.extracting(first: count))
  }

  private func start(input: Int32?, output: Int32?) throws -> pid_t {
    let nowhere = open("/dev/null", O_RDWR | O_CLOEXEC)
    guard nowhere >= 0 else { throw failure }
    defer { close(nowhere) }
    return try ChildProcess.spawn(path, arguments, standard: [input ?? nowhere, output ?? nowhere, nowhere])
  }

  private var failure: VaultError {
    VaultError(.inputOutput, "cannot start \(arguments[0]): \(SystemError.text(errno))")
  }

  private static func wait(for descriptor: Int32, _ events: Int16, until limit: Int64) {
    var waiting = pollfd(fd: descriptor, events: events, revents: 0)
    _ = poll(&waiting, 1, Int32(clamping: max(1, limit - Clocks.milliseconds())))
  }

  private func end(_ process: pid_t, _ limit: Int64) throws -> Int32 {
    if let status = ChildProcess.reap(process, until: limit) { return ChildProcess.exitCode(status) }
    kill(-process, SIGKILL)
    _ = ChildProcess.reap(process, until: Clocks.milliseconds() + 2000)
    throw VaultError(.other, "\(arguments[0]) did not finish in \(Self.timeLimit / 1000) seconds")
  }
}
