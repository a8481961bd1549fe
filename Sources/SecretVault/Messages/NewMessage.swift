package import VaultProtocol

package enum NewMessage: Sendable {
  /// UTF-8, at least one byte.
  case text(HeldSecret)
  case file(MessageFile)
}

/// A file to be sent.
package struct MessageFile: Sendable {
  /// Reads exactly so many bytes from an offset on.
  package typealias Read = @Sendable (_ offset: UInt64, _ count: Int) throws -> HeldSecret

  /// Without folders.
  package let name: String
  /// As `image/jpeg`.
  package let mediaType: String
  package let byteCount: UInt64
  package let isPhoto: Bool
  package let caption: HeldSecret?
  let read: Read

  package init(
    name: String, mediaType: String, byteCount: UInt64, isPhoto: Bool, caption: HeldSecret?, read: @escaping Read
  ) {
    self.name = name
    self.mediaType = mediaType
    self.byteCount = byteCount
    self.isPhoto = isPhoto
    self.caption = caption
    self.read = read
  }

  /// A regular file on this device. One that changes while it is read is refused.
  package init(path: String, isPhoto: Bool, mediaType: String, caption: HeldSecret?) throws {
    self.init(try LocatedFile(path: path), path: path, isPhoto: isPhoto, mediaType: mediaType, caption: caption)
  }

  init(_ source: LocatedFile, path: String, isPhoto: Bool, mediaType: String, caption: HeldSecret?) {
    self.init(
      name: VaultCore.fileName(of: path), mediaType: mediaType, byteCount: source.byteCount, isPhoto: isPhoto,
      caption: caption
    ) { (offset, count) throws in try source.read(at: offset, count: count) }
  }
}
