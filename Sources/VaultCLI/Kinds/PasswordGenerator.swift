import Glibc
import SecretVault
import Sodium

/// Passwords from the system's random generator, each character as likely as any other.
struct PasswordGenerator {
  static let lengths = 4...1024
  /// The length when nobody chooses.
  static let usualLength = 20
  /// Bits below which a password is called weak.
  static let weakBelow = 64.0

  static let alphabets: [(name: String, characters: String)] = [
    ("full", letters + digits + "!#$%&()*+,-./:;<=>?@[]^_{|}~"), ("alphanumeric", letters + digits),
    // Without 0, O, 1, l, I: for reading aloud and typing off.
    ("clear", "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"),
    ("letters", letters), ("digits", digits), ("hex", "0123456789abcdef"),
  ]
  private static let letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
  private static let digits = "0123456789"

  let length: Int
  /// Bytes of printable ASCII, each once.
  let characters: [UInt8]

  /// Refuses lengths and alphabets that make no sense. `alphabet` is a name, `characters` the very characters.
  init(length: Int?, alphabet: String?, characters: String?) throws {
    self.length = length ?? Self.usualLength
    guard Self.lengths.contains(self.length) else {
      throw VaultError(.usage, "a password has \(Self.lengths.lowerBound) to \(Self.lengths.upperBound) characters")
    }
    let chosen: String
    if let characters {
      chosen = characters
    } else {
      let name = alphabet ?? "full"
      guard let named = Self.alphabets.first(where: { $0.name == name }) else {
        throw VaultError(
          .usage, "there is no alphabet '\(name)'",
          hint:
            "choose one of \(Self.alphabets.map(\.name).joined(separator: ", ")), or list characters with --characters")
      }
      chosen = named.characters
    }
    let bytes = Array(chosen.utf8)
    guard bytes.count >= 2, Set(bytes).count == bytes.count, bytes.allSatisfy({ (0x20...0x7e).contains($0) }) else {
      throw VaultError(.usage, "--characters takes at least two different printable ASCII characters, each once")
    }
    self.characters = bytes
  }

  /// log2 of the number of passwords that are equally likely.
  var bits: Double { Double(length) * log2(Double(characters.count)) }

  /// A fresh one. Random bytes beyond the alphabet are thrown away rather than folded in, and the character is taken by
  /// looking at all of them, so that neither the odds nor the time depend on which it is.
  func make() throws -> SecretBytes {
    do {
      var password = try SecretBytes(zeros: length)
      var mask = 1
      while mask < characters.count { mask *= 2 }
      var made = 0
      while made < length {
        let random = try SecretBytes(random: 64)
        password.withUnsafeMutableBytes { target in
          random.withUnsafeBytes { bytes in
            for byte in bytes where made < length {
              let number = Int(byte) & (mask - 1)
              guard number < characters.count else { continue }
              target[made] = character(number)
              made += 1
            }
          }
        }
      }
      return password
    } catch {
      throw SecretText.noMemory
    }
  }

  private func character(_ number: Int) -> UInt8 {
    var chosen: UInt8 = 0
    for (position, character) in characters.enumerated() {
      let difference = UInt32(truncatingIfNeeded: position ^ number)
      // All ones if they are the same, else zero: no branch on which.
      let isIt = UInt8(truncatingIfNeeded: (difference &- 1) >> 24) & UInt8(truncatingIfNeeded: ~difference >> 24)
      chosen |= character & isIt
    }
    return chosen
  }
}
