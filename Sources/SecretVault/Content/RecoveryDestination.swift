import Glibc

package enum RecoveryDestination: Sendable {
  case file(path: String, overwrites: Bool)
  /// Into this folder, under the sanitised original name; where it `renames`, under one like it that is free.
  case folder(path: String, overwrites: Bool, renames: Bool = false)
  /// To an open descriptor such as standard output, as it is verified.
  case descriptor(Int32)

  /// Where a file of this name goes, and whether it takes the place of another one; nil for a descriptor.
  package func place(of name: String) -> (path: String, overwrites: Bool)? {
    switch self {
    case .file(let path, let overwrites): return (path, overwrites)
    case .folder(let folder, let overwrites, let renames):
      let path = folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
      return (renames && !overwrites ? Self.freePath(path) : path, overwrites)
    case .descriptor: return nil
    }
  }

  /// The path, or where something is there already the first that is free of `note-2.txt`, `note-3.txt`, …
  package static func freePath(_ path: String) -> String {
    guard access(path, F_OK) == 0 else { return path }
    let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    let name = path[start...]
    // A dot at the beginning hides a file, and begins no ending.
    let dot = name.dropFirst().lastIndex(of: ".") ?? name.endIndex
    for number in 2..<1000 {
      let candidate = "\(path[..<start])\(name[..<dot])-\(number)\(name[dot...])"
      if access(candidate, F_OK) != 0 { return candidate }
    }
    return path
  }
}
