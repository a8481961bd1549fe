import ArgumentParser
import Glibc
import SecretVault
import Sodium
import Synchronization
import VaultDaemon

/// The process that stays behind to wipe the clipboard. It knows no secret: a key of its own, made for this once, and what the
/// copied bytes hash to under it.
struct ClipboardGuard: ~Copyable {
  /// Bytes of its orders: tool, seconds, key and tag.
  private static let orderByteCount = 1 + 4 + 2 * Digest.byteCount

  /// Whether a signal has come.
  private static let isDue = Atomic<Bool>(false)

  let tool: ClipboardTool
  let seconds: UInt32
  let key: SecretBytes
  let tag: SecretBytes
  let path: String

  static func tag(of content: borrowing SecretBytes, key: borrowing SecretBytes) throws -> SecretBytes {
    do {
      var hash = try DomainHash("vault/clipboard/v1", key: key.bytes)
      hash.append(content.bytes)
      return try hash.secret()
    } catch {
      throw SecretText.noMemory
    }
  }

  /// Starts it, detached from the terminal and everything else of this process, and hands it the lock.
  static func start(
    _ tool: ClipboardTool, seconds: UInt32, content: borrowing SecretBytes, record: (path: String, descriptor: Int32)
  ) throws {
    let key: SecretBytes
    do { key = try SecretBytes(random: Digest.byteCount) } catch { throw SecretText.noMemory }
    let tag = try tag(of: content, key: key)
    var orders = try SecretText(capacity: orderByteCount)
    try orders.append(byte: tool.rawValue)
    for shift in [24, 16, 8, 0] as [UInt32] { try orders.append(byte: UInt8(truncatingIfNeeded: seconds >> shift)) }
    try orders.append(key.bytes)
    try orders.append(tag.bytes)
    let bytes = try orders.finish()

    var ends = ChildProcess.Pipes.Ends()
    let nowhere = open("/dev/null", O_RDWR | O_CLOEXEC)
    defer { if nowhere >= 0 { close(nowhere) } }
    guard nowhere >= 0, ends.open() else {
      throw VaultError(.inputOutput, "cannot start the process that wipes the clipboard: \(SystemError.text(errno))")
    }
    defer {
      ends.closeRead()
      ends.closeWrite()
    }
    // It leaves the folder that this program runs in.
    let whole = realpath(record.path, nil)
    defer { free(whole) }
    let path = whole.flatMap { String(validatingCString: $0) } ?? record.path
    _ = try ChildProcess.spawn(
      "/proc/self/exe", ["vault", ClipboardGuardCommand.name, path],
      standard: [ends.read, nowhere, nowhere, record.descriptor], detached: true)
    ends.closeRead()
    // Far fewer bytes than a pipe holds.
    try Console.write(bytes.bytes, to: ends.write)
  }

  /// From now on signals mean that it is time. To be called before the first one is taken: one that comes while the orders
  /// are still being read must not end it.
  static func awaitSignals() {
    Interruption.redirect { _ in isDue.store(true, ordering: .releasing) }
  }

  /// Reads its orders. `path` is that of the note about what was copied.
  init(readingFrom descriptor: Int32, path: String) throws {
    let orders = try SecretStream.read(descriptor, limit: Self.orderByteCount, name: "its orders", hint: nil)
    let malformed = VaultError(.usage, "this command is started by 'vault' itself, when something is copied")
    guard orders.count == Self.orderByteCount else { throw malformed }
    let number = orders.withUnsafeBytes { $0[0] }
    guard let tool = ClipboardTool(rawValue: number) else { throw malformed }
    let key = try SecretText.copy(orders.bytes.extracting(5..<5 + Digest.byteCount))
    let tag = try SecretText.copy(orders.bytes.extracting(5 + Digest.byteCount..<Self.orderByteCount))
    self.key = key
    self.tag = tag
    self.tool = tool
    self.path = path
    seconds = orders.withUnsafeBytes { bytes in bytes[1..<5].reduce(0) { $0 << 8 | UInt32($1) } }
  }

  /// Milliseconds in which it tries again if the clipboard can't be looked at: as long as a locked screen or a busy desktop
  /// may take, and not long after a signal.
  private static let patience: Int64 = 300_000
  private static let patienceAfterSignal: Int64 = 10_000
  /// Milliseconds between two attempts.
  private static let pause: Int64 = 3000

  /// Waits for the time or a signal, and wipes the clipboard if what was copied is still there. If that can't be said for
  /// long, the note stays for whoever opens the vault next.
  func run() {
    // No disk is held busy for so long.
    chdir("/")
    let end = Self.now() + Int64(seconds) * 1000
    // In small steps, by a clock that goes on while the machine sleeps.
    while Self.now() < end, !Self.isDue.load(ordering: .acquiring) { usleep(100_000) }
    let began = Self.now()
    while !isSettled() {
      let patience = Self.isDue.load(ordering: .acquiring) ? Self.patienceAfterSignal : Self.patience
      guard Self.now() - began < patience else { return }
      let next = Self.now() + Self.pause
      while Self.now() < next { usleep(100_000) }
    }
  }

  /// Wipes what was copied if it is still there, and ends the note. False if it can't be said what is there, or be wiped.
  private func isSettled() -> Bool {
    do {
      let found = try ClipboardRecords.wipe(tool) { content in
        let found = try Self.tag(of: content, key: key)
        return found.matches(tag)
      }
      guard found != .unknown else { return false }
    } catch {
      return false
    }
    unlink(path)
    return true
  }

  private static func now() -> Int64 {
    var time = timespec()
    // CLOCK_BOOTTIME, which the Glibc module has under this number.
    clock_gettime(7, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}

/// The hidden command that the process of ``ClipboardGuard`` runs.
struct ClipboardGuardCommand: ParsableCommand {
  static let name = "clipboard-guard"
  static let configuration = CommandConfiguration(
    commandName: name, abstract: "Wipe the clipboard after a while.",
    discussion: """
      'vault recover --clip' starts this by itself and gives it its orders on
      standard input.

      Example: vault recover mail --clip
      """, shouldDisplay: false)

  @Argument(help: "The note about what was copied.")
  var note: String

  @OptionGroup var global: GlobalOptions

  func run() throws { try ClipboardGuard(readingFrom: STDIN_FILENO, path: note).run() }
}
