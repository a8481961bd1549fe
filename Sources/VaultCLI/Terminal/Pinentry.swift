import Glibc
import SecretVault
import Sodium
import VaultDaemon

/// The desktop's question for a passphrase, by a program that other programs share for that: GnuPG's pinentry, or another that
/// speaks as it does (the Assuan protocol). What is typed goes from its pipe straight into secret memory.
struct Pinentry {
  private let path: String
  /// Milliseconds that somebody has to answer.
  private let patience: Int64

  /// Lines that are read for one answer; notes may stand between them.
  private static let lineLimit = 64
  /// Numbers of libgpg-error: the user has said no, to this or to all, or has not answered.
  private static let refusals: Set<UInt32> = [62, 99, 198]

  init(path: String, patience: Int64 = 300_000) {
    self.path = path
    self.patience = patience
  }

  /// The one that `VAULT_PINENTRY` names, else `pinentry`; nil if there is none. It is no setting of the vault: those can't be
  /// verified as long as it is locked.
  static func installed() throws -> Pinentry? {
    guard let named = try Composition.variable("VAULT_PINENTRY") else {
      return ExecutableSearch.path(of: "pinentry").map { Pinentry(path: $0) }
    }
    guard let path = ExecutableSearch.path(of: named) else {
      throw VaultError(
        .inputOutput, "there is no program \(named), which VAULT_PINENTRY names", hint: "name one that is there")
    }
    return Pinentry(path: path)
  }

  /// Asks, with what was wrong about the answer before. Nil if the user says no.
  func ask(_ description: String, complaint: String?) throws -> SecretBytes? {
    var (input, output) = (ChildProcess.Pipes.Ends(), ChildProcess.Pipes.Ends())
    let nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC)
    defer {
      input.closeRead()
      input.closeWrite()
      output.closeRead()
      output.closeWrite()
      if nowhere >= 0 { close(nowhere) }
    }
    guard nowhere >= 0, input.open(), output.open() else { throw failure(SystemError.text(errno)) }
    let process = try ChildProcess.spawn(path, ["pinentry"], standard: [input.read, output.write, nowhere])
    input.closeRead()
    output.closeWrite()
    defer { Self.end(process) }
    var conversation = try AssuanConversation(input.write, output.read, until: Clocks.milliseconds() + patience)
    do {
      guard try conversation.answer(lines: Self.lineLimit) == .ok else { throw AssuanLine.Fault.malformed }
      let preparations = [
        "SETTITLE vault", "SETDESC " + Self.escaped(description), "SETPROMPT " + Self.escaped("Passphrase:"),
      ]
      // Without one of these it is asked a little less nicely.
      for line in preparations + (complaint.map { ["SETERROR " + Self.escaped($0)] } ?? []) {
        try conversation.say(line)
        _ = try conversation.answer(lines: Self.lineLimit)
      }
      try conversation.say("GETPIN")
      switch try conversation.answer(lines: Self.lineLimit) {
      case .failure(let number) where Self.refusals.contains(number & 0xFFFF): return nil
      case .failure(let number): throw failure("it says error \(number & 0xFFFF)")
      default: break
      }
    } catch AssuanLine.Fault.tooLong {
      throw failure("its answer is too long")
    } catch AssuanLine.Fault.malformed {
      throw failure("its answer makes no sense")
    } catch let error as VaultError where error.code == .inputOutput {
      throw failure("it has ended")
    } catch { throw error }
    try? conversation.say("BYE")
    return try conversation.collected()
  }

  private func failure(_ reason: String) -> VaultError {
    VaultError(
      .wrongPassphrase, "\(path) can't ask for the passphrase: \(reason)",
      hint: "run it at a terminal, or give it with --passphrase-fd N or --passphrase-file FILE")
  }

  private static func escaped(_ text: String) -> String {
    // By bytes: of characters, one may be a carriage return and a line feed.
    String(
      decoding: text.utf8.flatMap { byte -> [UInt8] in
        byte == UInt8(ascii: "%") || byte < 0x20 ? Array("%".utf8) + hexadecimal([byte]).uppercased().utf8 : [byte]
      }, as: UTF8.self)
  }

  private static func end(_ process: pid_t) {
    if ChildProcess.reap(process, until: Clocks.milliseconds() + 1000) != nil { return }
    kill(-process, SIGKILL)
    _ = ChildProcess.reap(process, until: Clocks.milliseconds() + 2000)
  }
}

/// Lines to and from a program, its answers in secret memory from the pipe on.
struct AssuanConversation: ~Copyable {
  private let input: Int32
  private let output: Int32
  private let end: Int64
  private var buffer: SecretBytes
  /// Bytes in the buffer that were not looked at yet.
  private var count = 0
  private var text: SecretText

  init(_ input: Int32, _ output: Int32, until end: Int64) throws {
    let memory = try SecretText.memory(AssuanLine.byteLimit + 1)
    let empty = try SecretText(capacity: Passphrase.byteLimit)
    self.input = input
    self.output = output
    self.end = end
    buffer = memory
    text = empty
  }

  func say(_ line: String) throws { try Console.write(line + "\n", to: input) }

  /// The line that ends the next answer. Data before it is collected.
  mutating func answer(lines limit: Int) throws -> AssuanLine {
    for _ in 0..<limit {
      let byteCount = try nextLine()
      let line = try AssuanLine(buffer.bytes.extracting(first: byteCount))
      if line == .data { try Self.collect(buffer, byteCount, &text) }
      drop(byteCount + 1)
      switch line {
      case .ok, .failure: return line
      case .data, .note: continue
      }
    }
    throw AssuanLine.Fault.tooLong
  }

  private static func collect(_ line: borrowing SecretBytes, _ byteCount: Int, _ text: inout SecretText) throws {
    try AssuanLine.append(dataOf: line.bytes.extracting(first: byteCount), to: &text)
  }

  /// All data so far.
  consuming func collected() throws -> SecretBytes { try text.finish() }

  /// Bytes of the line at the start of the buffer.
  private mutating func nextLine() throws -> Int {
    var searched = 0
    while true {
      let (start, stop) = (searched, count)
      let newline = buffer.withUnsafeBytes { bytes in
        (start..<stop).first { bytes[$0] == UInt8(ascii: "\n") }
      }
      if let newline { return newline }
      searched = count
      guard count < buffer.count else { throw AssuanLine.Fault.tooLong }
      try fill()
    }
  }

  private mutating func fill() throws {
    var waiting = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
    let left = end - Clocks.milliseconds()
    guard left > 0 else { throw VaultError(.wrongPassphrase, "nobody has given the passphrase in time") }
    guard poll(&waiting, 1, Int32(clamping: left)) > 0 else { return }
    let position = count
    let output = output
    let got = buffer.withUnsafeMutableBytes { memory in
      read(output, memory.baseAddress?.advanced(by: position), memory.count - position)
    }
    if got < 0, errno == EINTR { return }
    // It has ended before its answer has.
    guard got > 0 else { throw AssuanLine.Fault.malformed }
    count += got
  }

  /// Drops bytes from the start, and wipes where the last ones were.
  private mutating func drop(_ byteCount: Int) {
    let rest = count - byteCount
    let whole = count
    buffer.withUnsafeMutableBytes { memory in
      for index in 0..<rest { memory[index] = memory[index + byteCount] }
      for index in rest..<whole { memory[index] = 0 }
    }
    count = rest
  }
}
