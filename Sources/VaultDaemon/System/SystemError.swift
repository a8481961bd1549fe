import Glibc

/// Words for the numbers of the C library.
package enum SystemError {
  /// `No such file or directory`, …
  package static func text(_ number: Int32) -> String {
    guard let words = strerror(number) else { return "error \(number)" }
    return String(cString: words)
  }
}
