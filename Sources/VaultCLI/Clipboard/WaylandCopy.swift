import Glibc
import VaultDaemon
import VaultStore

/// Starts `wl-copy` so that what it is given touches no disk.
///
/// It writes its standard input into a file of its own and serves the clipboard from there: in `/tmp` whatever the environment
/// says (up to version 2.2.1, <https://github.com/bugaevc/wl-clipboard/issues/257>), later in `$TMPDIR`. Where `/tmp` isn't in
/// memory, it gets one of its own that is, in a mount name space that nobody else sees and that ends with it.
enum WaylandCopy {
  private static let folder = "/tmp"
  private static let program = "wl-copy"
  /// Bytes for the file: more than is ever copied.
  private static let byteCount = 4 * Clipboard.byteLimit
  private static let timeLimit: Int64 = 5000

  /// Why it can't be used.
  static let onDisk =
    "wl-copy would write it to \(folder), which lies on a disk here; mount a tmpfs there, or install xclip"

  /// How to start it, but for its own options; nil if what it writes would touch a disk.
  static func arguments() throws -> [String]? {
    guard let path = ExecutableSearch.path(of: program) else { return nil }
    let start = ["env", "TMPDIR=\(folder)", path]
    if ClearFolder.isInMemory(folder) { return start }
    // What it needs must not be hidden by the new folder.
    let needed = [path, try Composition.variable("XDG_RUNTIME_DIR"), try Composition.variable("WAYLAND_DISPLAY")]
    guard needed.allSatisfy({ $0.map { !isInside($0) } ?? true }) else { return nil }
    let attempt = ownFolder + ["true"]
    guard let unshare = ExecutableSearch.path(of: attempt[0]) else { return nil }
    let trial = ChildProcess(path: unshare, arguments: attempt, timeLimit: timeLimit)
    guard let outcome = try? trial.run(), outcome.status == 0 else { return nil }
    return ownFolder + start
  }

  /// unshare(1): root in a name space of its own, which is nobody special outside, may mount there.
  private static var ownFolder: [String] {
    let mount = "mount -t tmpfs -o mode=0700,size=\(byteCount),nosuid,nodev,noexec tmpfs \(folder) && exec \"$@\""
    return ["unshare", "--user", "--map-root-user", "--mount", "--", "/bin/sh", "-c", mount, "sh"]
  }

  private static func isInside(_ path: String) -> Bool {
    guard let resolved = realpath(path, nil) else { return path.hasPrefix(folder + "/") }
    defer { free(resolved) }
    return (String(validatingCString: resolved) ?? path).hasPrefix(folder + "/")
  }
}
