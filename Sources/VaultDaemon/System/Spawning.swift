import Concurrency
package import Glibc
import SecretVault

extension ChildProcess {
  /// Starts a program in a process group of its own with three descriptors, its caller's signals and the environment;
  /// every other descriptor is closed in it, so that no socket, key file or lock of ours leaks.
  ///
  /// With `inOwnGroup` false it stays in this program's group, so that it may read the terminal. With `detached` it is
  /// this program again, gets a session of its own and outlives this process. `standard` may have more than three
  /// descriptors.
  package static func spawn(
    _ path: String, _ arguments: [String], standard: [Int32], inOwnGroup: Bool = true, detached: Bool = false
  ) throws -> pid_t {
    do throws(Subprocess.Failure) {
      return try Subprocess.start(
        path, arguments, standard: standard, group: detached ? .session : inOwnGroup ? .new : .own)
    } catch {
      switch error {
      case .system(let number):
        throw VaultError(.inputOutput, "cannot start \(path): \(SystemError.text(number))")
      case .libraryTooOld: throw VaultError(.other, "cannot start \(path): this system's C library is too old")
      }
    }
  }

  /// Three pipes to a child and back.
  package struct Pipes {
    /// One pipe; closed ends are -1.
    package struct Ends {
      package var read: Int32 = -1
      package var write: Int32 = -1

      package init() {}

      package mutating func open() -> Bool {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return false }
        (read, write) = (ends[0], ends[1])
        return fcntl(read, F_SETFD, FD_CLOEXEC) == 0 && fcntl(write, F_SETFD, FD_CLOEXEC) == 0
      }

      package mutating func closeRead() {
        if read >= 0 { close(read) }
        read = -1
      }

      package mutating func closeWrite() {
        if write >= 0 { close(write) }
        write = -1
      }
    }

    var input = Ends()
    var output = Ends()
    var errors = Ends()

    /// Opens all three; our end of the input never blocks, so that a child that does not read cannot stop us.
    mutating func open() -> Bool {
      guard input.open(), output.open(), errors.open() else { return false }
      return fcntl(input.write, F_SETFL, O_NONBLOCK) == 0
    }

    mutating func closeChildEnds() {
      input.closeRead()
      output.closeWrite()
      errors.closeWrite()
    }

    mutating func closeAll() {
      closeChildEnds()
      input.closeWrite()
      output.closeRead()
      errors.closeRead()
    }
  }
}
