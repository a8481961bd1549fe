public import Sodium
public import WireCodec

/// Why a payload could not be sealed or opened. Never carries a byte of the payload.
///
/// Errors that a body closure throws pass through unchanged and are not of this type.
public enum PayloadError: Error, Hashable, Sendable {
  /// The ciphertext is not what was sealed under this key: a chunk does not verify, or lengths contradict each other.
  case damaged
  /// The ciphertext ended before its announced length.
  case truncated
  /// More ciphertext came than announced.
  case trailingBytes
  /// Everything verified, but the padding holds something other than zeros: whoever sealed it broke the format.
  case paddingNotZero
  /// The payload has a password layer and no password has opened it yet.
  case passwordRequired
  /// The password is not the one it was sealed with. The data is undamaged so far; another password may be tried.
  case wrongPassword
  /// There is no password layer to unlock, or it is unlocked already.
  case passwordNotNeeded
  /// An empty password protects nothing.
  case emptyPassword
  /// The password layer asks for a scrypt cost outside 2^15 … 2^20; refused before any memory was taken.
  case parametersRefused
  /// The body ended before the announced number of bytes.
  case sourceTooShort
  /// The body holds more than the announced number of bytes: the file grew while it was read.
  case sourceTooLong
  /// The file name, a field, or the whole header is over its limit.
  case headerTooLarge
  /// The header has a field of that name already.
  case duplicateField
  /// The padded payload would be longer than 2^60 bytes.
  case tooLarge
  /// An earlier call failed half-way; the stream can't go on.
  case abandoned
  /// The header does not parse, or is of a version or kind this program doesn't know.
  case wire(WireError)
  /// The machine or the library below failed.
  case sodium(SodiumError)
}

/// What the library's errors are called in this module.
func sodium<Result: ~Copyable>(_ body: @autoclosure () throws(SodiumError) -> Result) throws(PayloadError) -> Result {
  do throws(SodiumError) { return try body() } catch { throw .sodium(error) }
}

/// What the codec's errors are called in this module.
func wire<Result: ~Copyable>(_ body: @autoclosure () throws(WireError) -> Result) throws(PayloadError) -> Result {
  do throws(WireError) { return try body() } catch { throw .wire(error) }
}
