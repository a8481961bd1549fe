/// Why a symbol or its picture could not be made.
package enum QRCodeError: Error, Sendable, Hashable {
  /// There is nothing to write into a symbol.
  case empty
  /// The content is too long for the largest symbol (177 modules a side) at the correction level asked for.
  case tooLong
  /// libqrencode failed; the value is its `errno`, ENOMEM in practice.
  case encoder(errno: Int32)
  /// The scale or the quiet zone is outside of what a picture may have.
  case imageSize
}
