import Glibc
import SecretVault
import Testing

@testable import VaultCLI

@Suite("What the caller has left open")
struct InheritedDescriptorsTests {
  @Test(
    arguments: [
      ("share - --threshold 2", STDIN_FILENO), ("peer add -", STDIN_FILENO), ("peer scan -", STDIN_FILENO),
      ("recover -o -", STDOUT_FILENO),
    ])
  func aClosedStreamIsNoEmptyOne(line: String, stream: Int32) throws {
    let command = try command(line)
    #expect(complaint(command, closed: []) == nil)
    #expect(complaint(command, closed: [stream])?.code == .usage)
    #expect(complaint(command, closed: [stream])?.reason.contains("closed") == true)
  }

  @Test(arguments: ["share f --threshold 2", "peer add vaultpeer1q", "peer scan f", "recover", "recover -o f", "list"])
  func whoNeedsNoStreamRunsWithoutThem(line: String) throws {
    #expect(complaint(try command(line), closed: [0, 1, 2]) == nil)
  }

  @Test func aPassphraseComesOnlyFromADescriptorThatTheCallerOpened() throws {
    let command = try command("list --passphrase-fd 7")
    #expect(complaint(command, closed: [], open: [7]) == nil)
    let missing = complaint(command, closed: [], open: [3])
    #expect(missing?.code == .usage)
    #expect(missing?.reason.contains("--passphrase-fd 7") == true)
  }

  @Test func aStandardStreamThatWasClosedHoldsNoPassphraseThoughItsNumberIsInUseNow() throws {
    let command = try command("list --passphrase-fd 0")
    #expect(complaint(command, closed: [], open: [0]) == nil)
    #expect(complaint(command, closed: [0], open: [0])?.code == .usage)
  }

  @Test func onePipeGivesNoPassphraseAndASecretToo() throws {
    let input = Shell.pipe(holding: "x")
    defer { close(input) }
    // The test's own standard input, for the time of this test, is the pipe's second name.
    let before = dup(STDIN_FILENO)
    dup2(input, STDIN_FILENO)
    defer {
      dup2(before, STDIN_FILENO)
      close(before)
    }
    for option in ["--passphrase-fd \(input)", "--passphrase-file /dev/fd/\(input)"] {
      #expect(throws: (any Error).self) { try command("share - --threshold 2 " + option) }
      #expect(throws: Never.self) { try command("share f --threshold 2 " + option) }
    }
  }

  @discardableResult
  private func command(_ line: String) throws -> any UnlockingCommand {
    try #require(try Root.parseAsRoot(line.split(separator: " ").map(String.init)) as? any UnlockingCommand)
  }

  private func complaint(
    _ command: any UnlockingCommand, closed: Set<Int32>, open: Set<Int32> = []
  ) -> VaultError? {
    do {
      try InheritedDescriptors.check(command, closed: closed, isOpen: { open.contains($0) })
      return nil
    } catch {
      return VaultError(error)
    }
  }
}
