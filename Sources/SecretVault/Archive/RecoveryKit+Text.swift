import PeerAuth
package import VaultStore
import WireCodec

extension RecoveryKit {
  /// What the text begins with, in either case, before the separator `1`.
  package static let textPrefix = "vaultkit"
  /// The longest page that ``parse(page:)`` looks at.
  package static let pageLimit = 1 << 16
  private static let groupLength = 4
  private static let groupsInLine = 8

  package func text() throws -> String {
    do throws(WireError) { return Bech32m.encode(prefix: Self.textPrefix, try encoded()) } catch {
      throw VaultError(.other, "the recovery kit can't be written: \(error)")
    }
  }

  /// The form for a QR code: upper case, so that it packs in alphanumeric mode.
  package func qrText() throws -> String { try text().uppercased() }

  /// The text in groups that a person can read and type.
  package func lines() throws -> [String] {
    let head = Self.textPrefix + "1"
    let letters = Array(try text().dropFirst(head.count))
    let groups = stride(from: 0, to: letters.count, by: Self.groupLength).map {
      String(letters[$0..<min($0 + Self.groupLength, letters.count)])
    }
    return [head]
      + stride(from: 0, to: groups.count, by: Self.groupsInLine).map {
        groups[$0..<min($0 + Self.groupsInLine, groups.count)].joined(separator: " ")
      }
  }

  /// Finds the kit on a page: from its prefix to the next empty line. Case, blanks, line ends and hyphens don't matter.
  package static func parse(page: String) throws -> RecoveryKit {
    var bytes = Array(page.utf8)
    guard bytes.count <= pageLimit else { throw noKit }
    for place in bytes.indices where 65...90 ~= bytes[place] { bytes[place] += 32 }
    guard let start = place(of: Array((textPrefix + "1").utf8), in: bytes) else { throw noKit }
    var letters: [UInt8] = []
    for line in bytes[start...].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      let written = line.filter { $0 != UInt8(ascii: " ") && !(9...13 ~= $0) }
      guard !written.isEmpty else { break }
      letters += written.filter { $0 != UInt8(ascii: "-") }
    }
    return try decoded(letters)
  }

  private static func place(of word: [UInt8], in bytes: [UInt8]) -> Int? {
    guard bytes.count >= word.count else { return nil }
    return (0...bytes.count - word.count).first { bytes[$0...].starts(with: word) }
  }

  private static func decoded(_ letters: [UInt8]) throws -> RecoveryKit {
    let bytes: [UInt8]
    do throws(CardError) { bytes = try Bech32m.decode(prefix: textPrefix, letters) } catch {
      throw VaultError(
        .damaged, "this recovery kit is mistyped, cut short or damaged; nothing was changed",
        hint: "compare it letter by letter; behind the first 1 there is neither 1 nor b, i or o in it")
    }
    do throws(WireError) { return try decode(bytes, limit: byteLimit) } catch .unsupported {
      throw VaultError(
        .other, "this recovery kit was written by a newer version of this program", hint: "update vault on this device")
    } catch {
      throw VaultError(.damaged, "this recovery kit is damaged; nothing was changed", hint: "use another copy of it")
    }
  }

  private static var noKit: VaultError {
    VaultError(
      .damaged, "there is no recovery kit in this",
      hint: "its text begins with vaultkit1; `vault backup kit` prints it on the old device")
  }
}
