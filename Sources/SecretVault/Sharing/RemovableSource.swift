import Glibc

/// A source file that is to be removed once its secret no longer needs it: this very file, not whatever has its name then.
struct RemovableSource: Sendable {
  private let path: String
  private let fingerprint: FileFingerprint

  /// Refuses, before anything is shared, what can't be removed by its name.
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

  /// Removes the file. Returns why it is still there, or nil.
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
  /// The same report where the source stays, although enough shares are placed.
  var keepingSource: ShareReport {
    var report = self
    report.sourceRemovalFailure =
      "this device keeps no share, and it isn't known that the holders know and can call one another"
    return report
  }

  /// The same report after the source has been removed, or has not.
  func removing(_ source: RemovableSource) -> ShareReport {
    let failure = source.remove()
    return ShareReport(
      id: id, description: description, threshold: threshold, shareCount: shareCount, keepsOwnShare: keepsOwnShare,
      deliveries: deliveries, leftOut: leftOut, sourceRemoved: failure == nil, sourceRemovalFailure: failure,
      listensNowhere: listensNowhere, isOwnAddressUnknown: isOwnAddressUnknown,
      areHoldersIntroduced: areHoldersIntroduced)
  }
}
