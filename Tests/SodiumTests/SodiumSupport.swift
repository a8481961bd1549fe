import Sodium
import Testing

func secret(_ bytes: [UInt8]) throws(SodiumError) -> SecretBytes { try SecretBytes(copying: bytes.span.bytes) }

/// The bytes of hexadecimal text, which may be broken into several literals.
func hex(_ text: String) throws -> [UInt8] { try #require(bytes(hexadecimal: text)) }

func secret(hex text: String) throws -> SecretBytes { try secret(hex(text)) }

func copied(_ secret: borrowing SecretBytes) -> [UInt8] { secret.withUnsafeBytes { Array($0) } }
