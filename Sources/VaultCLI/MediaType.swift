import Glibc
import SecretVault
import VaultDaemon

/// Media types of common files: a hint for who opens an item, told by the file's first bytes, or its name.
enum MediaType {
  /// Beginnings of files, as photos and videos have them. `nil` bytes may be anything.
  private static let beginnings: [(type: String, bytes: [UInt8?])] = [
    ("image/jpeg", [0xFF, 0xD8, 0xFF]), ("image/png", [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]),
    ("image/gif", [0x47, 0x49, 0x46, 0x38]), ("image/tiff", [0x49, 0x49, 0x2A, 0x00]),
    ("image/tiff", [0x4D, 0x4D, 0x00, 0x2A]),
    ("image/webp", [0x52, 0x49, 0x46, 0x46, nil, nil, nil, nil, 0x57, 0x45, 0x42, 0x50]),
    ("image/heic", [nil, nil, nil, nil, 0x66, 0x74, 0x79, 0x70, 0x68, 0x65, 0x69]),
    ("image/heic", [nil, nil, nil, nil, 0x66, 0x74, 0x79, 0x70, 0x6D, 0x69, 0x66]),
    ("image/avif", [nil, nil, nil, nil, 0x66, 0x74, 0x79, 0x70, 0x61, 0x76, 0x69]),
    ("video/quicktime", [nil, nil, nil, nil, 0x66, 0x74, 0x79, 0x70, 0x71, 0x74]),
    ("video/mp4", [nil, nil, nil, nil, 0x66, 0x74, 0x79, 0x70]), ("video/webm", [0x1A, 0x45, 0xDF, 0xA3]),
  ]

  /// By the ends of names.
  private static let endings = [
    "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp",
    "heic": "image/heic", "mp4": "video/mp4", "mov": "video/quicktime", "webm": "video/webm", "txt": "text/plain",
    "md": "text/markdown", "pdf": "application/pdf", "zip": "application/zip", "tar": "application/x-tar",
    "vcf": "text/vcard", "json": "application/json", "csv": "text/csv", "html": "text/html",
  ]

  /// The type of a photo or video. Throws if the file is none that is known.
  static func ofPicture(_ path: String) throws -> String {
    guard let front = PublicFile.front(of: path, count: 16) else {
      throw VaultError(.inputOutput, "cannot read \(path): \(SystemError.text(errno))")
    }
    guard let type = of(front) else {
      throw VaultError(
        .usage, "\(path) is no photo or video that is known here", hint: "encrypt it as a file: leave out --photo")
    }
    return type
  }

  /// The type of a photo or video by its first bytes.
  static func of(_ front: [UInt8]) -> String? {
    beginnings.first { beginning in
      front.count >= beginning.bytes.count && zip(front, beginning.bytes).allSatisfy { $1 == nil || $0 == $1 }
    }?.type
  }

  /// The type of a file by the end of its name; empty if that says nothing.
  static func of(_ path: String) -> String {
    let name = path.unicodeScalars.split(separator: "/").last.map { String($0) } ?? ""
    guard let dot = name.lastIndex(of: ".") else { return "" }
    return endings[name[name.index(after: dot)...].lowercased()] ?? ""
  }
}
