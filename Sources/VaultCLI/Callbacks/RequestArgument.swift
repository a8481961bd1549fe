import Glibc
import Sodium
import Synchronization

/// A request's URL among the arguments, taken out of them before anything else looks at them.
///
/// It may hold plaintext. Arguments become strings, which can't be wiped, and every process of the same user can read
/// them while the program runs. What another program has done with them before is out of reach.
enum RequestArgument {
  /// What stands in the URL's place from then on.
  static let placeholder = "coresecret:"

  private static let taken = Mutex<SecretBytes?>(nil)

  /// Moves the first argument that begins like a request into secret memory, and overwrites it. First of all in the program.
  static func take(_ count: Int, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) {
    for position in 1..<max(1, count) {
      guard let argument = arguments[position], begins(argument) else { continue }
      let length = strlen(argument)
      // Without memory for it there is no request, but it must not stay where it is either.
      taken.withLock { $0 = try? SecretBytes(copying: RawSpan(_unsafeStart: argument, byteCount: length)) }
      let kept = placeholder.utf8.count
      explicit_bzero(argument + kept, length - kept)
      return
    }
  }

  private static func begins(_ argument: UnsafePointer<CChar>) -> Bool {
    strncasecmp(argument, placeholder, placeholder.utf8.count) == 0
  }

  /// The URL; once.
  static func url() -> SecretBytes? { taken.withLock { $0.take() } }
}
