/// What C is shown for an empty buffer: a valid address that is never read or written.
private nonisolated(unsafe) let emptyAddress = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)

extension UnsafeRawBufferPointer {
  /// The bytes as C's `unsigned char` pointer; never null, so that an empty part is no special case.
  package var octets: UnsafePointer<UInt8> {
    baseAddress?.assumingMemoryBound(to: UInt8.self) ?? UnsafePointer(emptyAddress)
  }
}

extension UnsafeMutableRawBufferPointer {
  /// The bytes as C's `unsigned char` pointer; never null, so that an empty part is no special case.
  package var octets: UnsafeMutablePointer<UInt8> {
    baseAddress?.assumingMemoryBound(to: UInt8.self) ?? emptyAddress
  }
}

extension UnsafeMutableBufferPointer<UInt8> {
  /// The bytes as C's `unsigned char` pointer; never null.
  var octets: UnsafeMutablePointer<UInt8> { baseAddress ?? emptyAddress }
}
