import Glibc
import SecretVault
import Testing

@testable import VaultCLI

@Suite("Files that hold nothing secret")
struct PublicFileTests {
  // As the program does before anything else.
  init() { signal(SIGPIPE, SIG_IGN) }

  @Test func aPublicFileReplacesAnotherAndOthersMayReadIt() throws {
    let folder = Shell.folder()
    try PublicFile.write([1, 2], to: folder + "/f")
    try PublicFile.write([3], to: folder + "/f")
    #expect(try PublicFile.read(path: folder + "/f", limit: 10) == [3])
    var facts = stat()
    #expect(stat(folder + "/f", &facts) == 0)
    #expect(facts.st_mode & 0o777 == 0o644)
    #expect(throws: VaultError.self) { try PublicFile.write([3], to: folder + "/none/f") }
    #expect(throws: VaultError.self) { try PublicFile.read(path: folder + "/f", limit: 0) }
    unlink(folder + "/f")
    rmdir(folder)
  }

  @Test func aPublicFileGoesIntoAPipeWithoutReplacingIt() throws {
    let folder = Shell.folder()
    let path = folder + "/pipe"
    #expect(mkfifo(path, 0o600) == 0)
    // Open for both, so that neither end waits for the other.
    let pipe = open(path, O_RDWR)
    defer { close(pipe) }
    symlink(path, folder + "/link")
    for (byte, name) in [(UInt8(7), path), (8, folder + "/link")] {
      try PublicFile.write([byte, byte], to: name)
      var received = [UInt8](repeating: 0, count: 10)
      #expect(read(pipe, &received, 10) == 2 && received.starts(with: [byte, byte]))
    }
    #expect(Self.kind(path) == S_IFIFO && Self.kind(folder + "/link") == S_IFLNK)
    for name in ["pipe", "link"] { unlink("\(folder)/\(name)") }
    #expect(rmdir(folder) == 0)
  }

  @Test func aPublicFileGoesIntoADevice() throws {
    try PublicFile.write([1], to: "/dev/null")
    #expect(Self.kind("/dev/null") == S_IFCHR)
    #expect(throws: VaultError.self) { try PublicFile.write([1], to: "/dev/full") }
  }

  @Test func aPublicFileReplacesNoLinkAndNoFolder() throws {
    let folder = Shell.folder()
    Shell.file(folder + "/other", "mine")
    symlink("other", folder + "/link")
    symlink("missing", folder + "/dangling")
    mkdir(folder + "/inner", 0o700)
    for name in ["link", "dangling", "inner"] {
      #expect(throws: VaultError.self) { try PublicFile.write([1], to: "\(folder)/\(name)") }
    }
    #expect(Shell.contents(folder + "/other") == "mine")
    #expect(Self.kind(folder + "/link") == S_IFLNK && Self.kind(folder + "/dangling") == S_IFLNK)
    #expect(Self.kind(folder + "/missing") == nil)
    for name in ["other", "link", "dangling"] { unlink("\(folder)/\(name)") }
    rmdir(folder + "/inner")
    // Nothing else is left in it.
    #expect(rmdir(folder) == 0)
  }

  private static func kind(_ path: String) -> mode_t? {
    var facts = stat()
    return lstat(path, &facts) == 0 ? facts.st_mode & S_IFMT : nil
  }
}
