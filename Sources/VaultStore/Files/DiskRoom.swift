import Glibc

/// How much there is on the disk on which a vault lies.
package struct DiskRoom: Sendable {
  /// Bytes that this user may still write.
  package let free: UInt64
  package let total: UInt64
}

extension VaultFolders {
  package func diskRoom() -> DiskRoom? {
    var status = statvfs()
    guard statvfs(data, &status) == 0 else { return nil }
    func bytes(_ blocks: UInt64) -> UInt64 {
      let (product, overflow) = blocks.multipliedReportingOverflow(by: UInt64(status.f_frsize))
      return overflow ? .max : product
    }
    return DiskRoom(free: bytes(UInt64(status.f_bavail)), total: bytes(UInt64(status.f_blocks)))
  }
}

extension stat {
  /// When the file was changed, in milliseconds since 1970. Anybody sets that to what he likes: more than can be counted with is cut off.
  var changedAt: Int64 {
    let limit: Int64 = 1 << 50
    return max(-limit, min(limit, Int64(st_mtim.tv_sec))) * 1000 + Int64(st_mtim.tv_nsec) / 1_000_000
  }

  var isRegularFile: Bool { st_mode & S_IFMT == S_IFREG }
}

/// A file as it was at one moment: whoever finds it so again finds in it what he has left there.
package struct FileMark: Hashable, Sendable {
  private let device: UInt64
  private let inode: UInt64
  private let byteCount: Int64
  private let seconds: Int
  private let nanoseconds: Int

  /// That of a file with a name, or nil if there is none.
  package init?(ofFile path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  init(_ status: stat) {
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    byteCount = Int64(status.st_size)
    seconds = status.st_mtim.tv_sec
    nanoseconds = status.st_mtim.tv_nsec
  }
}
