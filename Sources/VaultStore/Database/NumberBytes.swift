/// A number as single values have it: 8 bytes, the highest first.
func bytes(of number: UInt64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

func bytes(of number: Int64) -> [UInt8] { bytes(of: UInt64(bitPattern: number)) }

/// The number that is in up to 8 bytes.
func number(of bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
