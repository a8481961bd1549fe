import ArgumentParser
import Glibc

/// A descriptor or a file that a secret is read from up to its end.
struct SecretInput {
  let descriptor: Int32?
  let file: String?

  /// Refuses both at once, and a number that no descriptor has. The options are `--NAME-fd` and `--NAME-file`.
  func check(named name: String) throws {
    if descriptor != nil, file != nil { throw ValidationError("--\(name)-fd and --\(name)-file exclude each other.") }
    if let descriptor, descriptor < 0 {
      throw ValidationError("--\(name)-fd needs the number of an open descriptor.")
    }
  }

  /// Whether it is standard input, or another name of the same pipe.
  var readsStandardInput: Bool {
    if descriptor == STDIN_FILENO { return true }
    guard let other = facts, let input = Self.facts(of: STDIN_FILENO) else { return false }
    return Self.isOneStream(input, other)
  }

  /// Refuses two secrets that come from one stream: what is read first would take it all.
  static func checkDistinct(_ one: SecretInput, _ other: SecretInput, _ what: String) throws {
    let isSame: Bool
    if let first = one.descriptor, first == other.descriptor {
      isSame = true
    } else if let first = one.facts, let second = other.facts {
      isSame = isOneStream(first, second)
    } else {
      isSame = false
    }
    if isSame { throw ValidationError("\(what) cannot both come from the same descriptor.") }
  }

  private var facts: stat? {
    if let descriptor { return Self.facts(of: descriptor) }
    var facts = stat()
    guard let file, stat(file, &facts) == 0 else { return nil }
    return facts
  }

  private static func facts(of descriptor: Int32) -> stat? {
    var facts = stat()
    return fstat(descriptor, &facts) == 0 ? facts : nil
  }

  /// A file can be read twice under two descriptors, a pipe or socket only once.
  private static func isOneStream(_ one: stat, _ other: stat) -> Bool {
    let kind = one.st_mode & S_IFMT
    return (kind == S_IFIFO || kind == S_IFSOCK) && one.st_dev == other.st_dev && one.st_ino == other.st_ino
  }
}
