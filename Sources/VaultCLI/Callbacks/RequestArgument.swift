import Glibc
import SecretVault
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
  private static let found = Mutex(0)

  /// Moves the argument that begins like a request into secret memory, and overwrites all that do: a second one must not
  /// stay where it is, or be told in an error, because it is one too many. First of all in the program.
  static func take(_ count: Int, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) {
    var requests = 0
    for position in 1..<max(1, count) {
      guard let argument = arguments[position], begins(argument) else { continue }
      requests += 1
      let length = strlen(argument)
      // Without memory for it there is no request; of several none is carried out.
      let isOnly = requests == 1
      taken.withLock {
        $0 = nil
        if isOnly { $0 = try? SecretBytes(copying: RawSpan(_unsafeStart: argument, byteCount: length)) }
      }
      let kept = placeholder.utf8.count
      explicit_bzero(argument + kept, length - kept)
    }
    let all = requests
    found.withLock { $0 = all }
  }

  /// Refuses a command line with more than one request.
  static func check() throws {
    let requests = found.withLock { $0 }
    guard requests <= 1 else {
      throw VaultError(
        .usage, "there are \(requests) requests among the arguments, and a command carries out one",
        hint: "run `vault url` once for each")
    }
  }

  private static func begins(_ argument: UnsafePointer<CChar>) -> Bool {
    strncasecmp(argument, placeholder, placeholder.utf8.count) == 0
  }

  /// The URL; once.
  static func url() -> SecretBytes? { taken.withLock { $0.take() } }
}
