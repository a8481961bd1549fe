import Concurrency
import Dispatch
import Glibc
import SecretVault
import Sodium
import Synchronization
import Testing

@testable import VaultCLI

@Suite("Questions on a terminal", .serialized)
struct TerminalTests {
  /// Both sides of a pseudoterminal; the test plays the user on the master side.
  private final class Pseudoterminal {
    let master: Int32
    let slave: Int32
    let path: String

    init() throws {
      var (master, slave): (Int32, Int32) = (-1, -1)
      var name = [CChar](repeating: 0, count: 256)
      try #require(openpty(&master, &slave, &name, nil, nil) == 0)
      (self.master, self.slave) = (master, slave)
      path = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
      close(master)
      close(slave)
    }

    var echoes: Bool {
      var modes = termios()
      tcgetattr(slave, &modes)
      return modes.c_lflag & tcflag_t(ECHO) != 0
    }

    /// Everything on the screen until `mark` shows up, at most for a minute.
    func screen(until mark: String) -> String {
      var seen: [UInt8] = []
      for _ in 0..<6000 {
        var waiting = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, 10) > 0 else { continue }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(master, &buffer, buffer.count)
        guard count > 0 else { break }
        seen += buffer.prefix(count)
        if String(decoding: seen, as: UTF8.self).contains(mark) { break }
      }
      return String(decoding: seen, as: UTF8.self)
    }

    func type(_ text: String) { _ = write(master, text, text.utf8.count) }
  }

  /// What the program's side makes of the user's answer, on a thread of its own.
  private final class Answer: Sendable {
    private let result = Mutex<Bool?>(nil)
    private let ended = DispatchSemaphore(value: 0)

    init(_ work: @escaping @Sendable () -> Bool) {
      BackgroundThread.start {
        let value = work()
        self.result.withLock { $0 = value }
        self.ended.signal()
      }
    }

    /// The result, or nil after a minute without one.
    var value: Bool? {
      _ = ended.wait(timeout: .now() + 60)
      return result.withLock { $0 }
    }
  }

  @Test func aPassphraseIsNotShownAndTheEchoComesBack() throws {
    let terminal = try Pseudoterminal()
    let path = terminal.path
    #expect(terminal.echoes)
    let answer = Answer {
      guard let terminal = Terminal(path: path) else { return false }
      do {
        let line = try terminal.secretLine("Passphrase: ")
        return line.matches(try SecretBytes(copying: Array("open sesame".utf8).span.bytes))
      } catch {
        return false
      }
    }
    let question = terminal.screen(until: "Passphrase: ")
    #expect(question.contains("Passphrase: "))
    #expect(!terminal.echoes)
    terminal.type("open sesame\n")
    #expect(answer.value == true)
    let rest = terminal.screen(until: "\r\n")
    #expect(!rest.contains("sesame"))
    #expect(terminal.echoes)
  }

  @Test func aPassphraseFromADescriptorIsNotShownEither() throws {
    let terminal = try Pseudoterminal()
    let slave = terminal.slave
    let answer = Answer {
      do {
        let line = try Passphrase.descriptor(slave).existing(Console(json: false, quiet: true))
        return line.matches(try SecretBytes(copying: Array("open sesame".utf8).span.bytes))
      } catch {
        return false
      }
    }
    for _ in 0..<6000 where terminal.echoes { usleep(10_000) }
    #expect(!terminal.echoes)
    terminal.type("open sesame\n")
    #expect(answer.value == true)
    #expect(terminal.echoes)
    terminal.type("end\n")
    #expect(!terminal.screen(until: "end").contains("sesame"))
  }

  @Test func whatWasTypedBeforeIsTakenFromADescriptorToo() throws {
    let terminal = try Pseudoterminal()
    let slave = terminal.slave
    terminal.type("early\n")
    _ = terminal.screen(until: "early")
    let answer = Answer {
      (try? Passphrase.descriptor(slave).existing(Console(json: false, quiet: true)).count) == 5
    }
    #expect(answer.value == true)
  }

  @Test(arguments: [("one", "one", true), ("one", "two", false)])
  func aNewPassphraseIsAskedTwice(first: String, second: String, agrees: Bool) throws {
    let terminal = try Pseudoterminal()
    let path = terminal.path
    let answer = Answer { () -> Bool in
      guard let terminal = Terminal(path: path) else { return !agrees }
      do {
        return try Passphrase.askTwice(terminal).count == 3
      } catch {
        return false
      }
    }
    _ = terminal.screen(until: "New passphrase: ")
    terminal.type(first + "\n")
    #expect(terminal.screen(until: "confirm: ").contains("confirm: "))
    terminal.type(second + "\n")
    #expect(answer.value == agrees)
    #expect(terminal.echoes)
  }

  @Test func aSignalCanPutTheTerminalBack() throws {
    let terminal = try Pseudoterminal()
    #expect(TerminalModes.hideInput(of: terminal.slave))
    #expect(!terminal.echoes)
    TerminalModes.restoreAll()
    #expect(terminal.echoes)
  }

  @Test func aLineIsShownWhileItIsTyped() throws {
    let terminal = try Pseudoterminal()
    let path = terminal.path
    let answer = Answer {
      guard let terminal = Terminal(path: path) else { return false }
      return (try? terminal.line("Sure? ")) == "yes"
    }
    _ = terminal.screen(until: "Sure? ")
    terminal.type("yes\n")
    #expect(answer.value == true)
    #expect(terminal.screen(until: "yes").contains("yes"))
  }

  @Test func whatIsNoTerminalCannotHideInput() {
    let terminal = Terminal(path: "/nonexistent")
    let isMissing =
      switch consume terminal {
      case .none: true
      case .some: false
      }
    #expect(isMissing)
    #expect(!TerminalModes.hideInput(of: Shell.pipe(holding: "")))
  }
}
