/// Lengths that hide the exact size of what is inside.
///
/// Padmé (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files and Communication with PURBs", 2019,
/// algorithm 1) keeps the top bits of a length and rounds up the rest: at most 12 % are added, less for large files,
/// and only O(log log L) bits about a length L become visible.
package enum PaddedLength {
  /// The shortest padded length: all small notes and passwords look alike.
  package static let minimum: UInt64 = 1024
  /// The longest padded length that is sealed or opened: 2^60 bytes, so that no sum of lengths can overflow.
  package static let limit: UInt64 = 1 << 60

  /// max(1024, padmé(`length`)), or nil if that is over ``limit``.
  package static func of(_ length: UInt64) -> UInt64? {
    guard length > minimum else { return minimum }
    guard length <= limit else { return nil }
    let exponent = UInt64(63 - length.leadingZeroBitCount)
    let keptBits = UInt64(64 - exponent.leadingZeroBitCount)
    let mask: UInt64 = (1 << (exponent - keptBits)) - 1
    let padded = (length + mask) & ~mask
    return padded <= limit ? padded : nil
  }

  /// `length` rounded up to a multiple of 64 that isn't zero, or nil if that is over ``limit``: for items that must
  /// fit into a QR code.
  package static func compact(_ length: UInt64) -> UInt64? {
    guard length <= limit else { return nil }
    return max(64, (length + 63) & ~63)
  }
}

/// Which padding a payload has. Sealer and opener must agree; it is not written down in the payload.
public enum PayloadPadding: Sendable, Hashable {
  /// Padmé, at least 1024 bytes: files and all other secrets.
  case standard
  /// A multiple of 64 bytes: items for QR codes, where every byte counts.
  case compact

  func paddedByteCount(_ length: UInt64) -> UInt64? {
    switch self {
    case .standard: PaddedLength.of(length)
    case .compact: PaddedLength.compact(length)
    }
  }
}
