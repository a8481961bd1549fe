import Glibc

/// A source file to be removed once it is shared: this very file, not whatever has its name then.
struct RemovableSource: Sendable {
  private let path: String
  private let fingerprint: FileFingerprint

  /// Throws, before anything is shared, if it can't be removed by its name.
  init?(_ source: ShareSource, _ opened: any PlaintextSource) throws {
    guard case .file(let path) = source, let file = opened as? FileSource else { return nil }
    var status = stat()
    guard lstat(path, &status) == 0 else { throw FileSource.failure("read", path, errno) }
    guard status.st_mode & S_IFMT != S_IFLNK else {
      throw VaultError(
        .usage, "\(path) is a link: removing it would leave the file that it leads to",
        hint: "name the file itself, or leave out --remove-source")
    }
    self.path = path
    fingerprint = file.fingerprint
  }

  /// Returns why the file is still there, or nil.
  func remove() -> String? {
    do {
      return try fingerprint.remove(path)
        ? nil : "\(path) was changed or replaced after it was shared; it was left in place"
    } catch {
      return VaultError(error).reason
    }
  }
}

extension ShareReport {
  /// Where the source stays although enough shares are placed.
  var keepingSource: ShareReport {
    var report = self
    report.sourceRemovalFailure =
      "this device keeps no share, and it isn't known that the holders know and can call one another"
    return report
  }

  func removing(_ source: RemovableSource) -> ShareReport {
    var report = self
    report.sourceRemovalFailure = source.remove()
    report.sourceRemoved = report.sourceRemovalFailure == nil
    return report
  }
}
