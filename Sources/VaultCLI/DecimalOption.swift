import ArgumentParser
import SecretVault

/// The number that an option or an argument is: digits alone.
@Sendable func digits<Number: FixedWidthInteger>(_ text: String) throws -> Number {
  guard let number: Number = decimal(text) else { throw ValidationError("a number in digits is wanted") }
  return number
}
