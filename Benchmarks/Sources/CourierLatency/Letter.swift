import Foundation
import PeerAuth
import Sodium
import VaultProtocol

/// Somebody with keys.
final class Person: Sendable {
  let identity: Identity
  let card: PeerCard

  init(_ name: String) throws {
    identity = try Identity.generate()
    card = try identity.card(label: name, serial: 1)
  }
}

/// What is said: letters and spaces, other ones each time.
enum Letter {
  struct Wrong: Error, CustomStringConvertible {
    let description = "what arrived isn't what was sent"
  }

  static func text(_ byteCount: Int) -> String {
    let letters = Array("abcdefghijklmnopqrstuvwxyz ".utf8)
    return String(decoding: (0..<byteCount).map { _ in letters.randomElement() ?? 0x20 }, as: UTF8.self)
  }

  static func held(_ text: String) throws -> HeldSecret {
    HeldSecret(try SecretBytes(copying: Array(text.utf8).span.bytes))
  }

  /// A text as a parcel, sealed and signed as a vault does it.
  static func seal(_ text: String, from sender: Person, to recipient: Person) throws -> Parcel {
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    let message = try MessageText(message: try Randomness.bytes(16), address: nil, text: try held(text))
    return try MessageLetter.seal(
      seed: try ParcelSeed.fresh(), createdAt: now, expiresAt: Parcel.expiry(createdAt: now, lifetime: 86_400_000),
      content: .text(message), from: sender.identity, to: recipient.identity.keys)
  }

  /// Opens a parcel and checks whom it is from.
  static func open(_ bytes: [UInt8], from sender: Person, to recipient: Person) throws {
    let parcel = try Parcel.decode(bytes, limit: Parcel.byteLimit)
    let keys = sender.identity.keys
    let opened = try ParcelLetter.openAny(parcel, with: recipient.identity) { digest throws(ProtocolError) in
      digest == keys.digest ? keys : nil
    }
    guard case .message(let letter) = opened, case .text = letter.content else { throw Wrong() }
  }

  /// Bytes as digits, which name a parcel at a server.
  static func digits(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
