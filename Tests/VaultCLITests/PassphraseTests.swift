import Glibc
import SecretVault
import Sodium
import Testing

@testable import VaultCLI

@Suite("Passphrases from descriptors and files")
struct PassphraseTests {
  private let console = Console(json: false, quiet: true)

  @Test(arguments: [
    ("secret", "secret"), ("secret\n", "secret"), ("secret\n\n", "secret\n"), ("two\nlines\n", "two\nlines"),
    ("\n", ""), ("", ""), ("häß\n", "häß"),
  ])
  func oneNewlineAtTheEndIsDropped(given: String, expected: String) throws {
    let descriptor = Shell.pipe(holding: given)
    defer { close(descriptor) }
    let passphrase = try Passphrase.descriptor(descriptor).existing(console)
    #expect(passphrase.matches(try SecretBytes(copying: Array(expected.utf8).span.bytes)))
  }

  @Test func itHasAtMost1024Bytes() throws {
    let longest = String(repeating: "x", count: 1024)
    let descriptor = Shell.pipe(holding: longest + "\n")
    defer { close(descriptor) }
    let passphrase = try Passphrase.descriptor(descriptor).existing(console)
    #expect(passphrase.count == 1024)

    for tooLong in [longest + "x", longest + "x\n", longest + "\n\n", longest + longest] {
      let descriptor = Shell.pipe(holding: tooLong)
      defer { close(descriptor) }
      #expect(code { _ = try Passphrase.descriptor(descriptor).existing(console) } == .usage)
    }
  }

  @Test func aFileIsRead() throws {
    let folder = Shell.folder()
    Shell.file(folder + "/pass", "from a file\n")
    let passphrase = try Passphrase.file(folder + "/pass").existing(console)
    #expect(passphrase.matches(try SecretBytes(copying: Array("from a file".utf8).span.bytes)))
    #expect(
      code { _ = try Passphrase.file(folder + "/none").existing(console) } == .inputOutput)
    unlink(folder + "/pass")
    rmdir(folder)
  }

  @Test func anEmptyPassphraseForANewVaultIsRefusedAndTheWayOutNamed() {
    let descriptor = Shell.pipe(holding: "\n")
    defer { close(descriptor) }
    do {
      _ = try Passphrase.descriptor(descriptor).new(console)
      Issue.record("an empty passphrase was taken")
    } catch {
      #expect(VaultError(error).code == .usage)
      #expect(VaultError(error).hint?.contains("--no-passphrase") == true)
    }
  }

  @Test func aClosedDescriptorIsAnError() {
    // Beyond what this process may open: any smaller number may be another test's.
    let number = Int32(clamping: sysconf(Int32(_SC_OPEN_MAX)))
    #expect(code { _ = try Passphrase.descriptor(number).existing(console) } == .inputOutput)
  }

  private func code(_ body: () throws -> Void) -> VaultError.Code? {
    do { try body() } catch { return VaultError(error).code }
    return nil
  }
}
