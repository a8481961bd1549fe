import CSodium

/// Initialises libsodium exactly once.
///
/// Everything in this module that touches the library calls ``ready()`` first, so callers need not.
package enum SodiumLibrary {
  private static let status: Int32 = sodium_init()

  /// Throws ``SodiumError/unavailable`` when the library can't work on this machine.
  package static func ready() throws(SodiumError) {
    guard status >= 0 else { throw .unavailable }
  }

  /// Wipes the part of the stack that a call of the library has just used: its arithmetic and its hashes leave copies of what
  /// they worked on there. The deepest is a multiplication in ristretto255, with nearly 5 KiB.
  @inline(never)
  package static func wipeStack() { sodium_stackzero(8192) }

  /// The version text of the linked library, for `--version` output.
  package static var version: String { String(cString: sodium_version_string()) }
}
