import VaultStore

/// The part of the disk that stays free whatever others bring, however large their quotas are.
struct DiskReserve: Sendable {
  private let folders: VaultFolders
  /// Bytes that stay free; nil if nobody has set them.
  private let byteCount: UInt64?
  /// Most bytes that stay free if nobody has set them: else a twentieth of the disk.
  static let most: UInt64 = 1 << 30

  init(_ folders: VaultFolders, byteCount: UInt64?) {
    self.folders = folders
    self.byteCount = byteCount
  }

  /// Whether so many bytes more leave it alone. Where the system doesn't say how much is free, the disk itself is the limit.
  func allows(_ more: UInt64) -> Bool {
    guard let room = folders.diskRoom() else { return true }
    let (needed, overflow) = more.addingReportingOverflow(byteCount ?? min(room.total / 20, Self.most))
    return !overflow && room.free >= needed
  }
}

extension VaultCore {
  /// As it is set now. Settings that can't be read count as untouched.
  var diskReserve: DiskReserve {
    DiskReserve(folders, byteCount: SettingKey.byteCount(settingValue(SettingKey.keepFree.rawValue)))
  }

  /// Whether so many bytes more, brought by somebody else, leave enough of the disk free.
  package func hasDiskRoom(for byteCount: Int = 0) -> Bool { diskReserve.allows(UInt64(max(0, byteCount))) }
}
