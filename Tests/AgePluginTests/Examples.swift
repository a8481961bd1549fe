import Sodium

@testable import AgePlugin

/// Files that age 1.1.1 has encrypted, each for one recipient whose secret is known.
struct Example: Sendable {
  let secret: [UInt8]
  let recipient: String
  let arguments: [String]
  let body: String
  /// Verified by the code that authenticates the file's header.
  let fileKey: [UInt8]

  /// The identity is the example of age's specification.
  static let specification = Example(
    secret: [UInt8](repeating: 0x42, count: 32),
    recipient: "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj",
    arguments: ["MhHgL441mkCsCcOMNAOH1oKx4NPVqVqjNmCa3v3xwG8"], body: "wJicfoQzVwiKd9AtddIsIiwEN7tuGm7jY0wqD4BYvhM",
    fileKey: [0xe9, 0x97, 0x08, 0x0b, 0xf4, 0xce, 0x07, 0x80, 0x8a, 0x24, 0xa8, 0x60, 0x9e, 0x76, 0x52, 0x46])

  /// That of docs/formats/item.md: the secret half of its key.
  static let document = Example(
    secret: [
      0x4b, 0xc6, 0xe1, 0x25, 0x56, 0x5b, 0x79, 0xcc, 0xd1, 0x66, 0xe9, 0x82, 0xb6, 0xa1, 0x15, 0x6f, 0x7b, 0x04, 0x31,
      0x35, 0xbc, 0xfc, 0xfe, 0xd2, 0x0e, 0x1f, 0x17, 0xc7, 0x32, 0xfd, 0xec, 0x39,
    ], recipient: "age1fverfj2qev7w7v88qghh89x4lgcpgyd2zq0kr22puhkgtjuv5dkq74kt5c",
    arguments: ["X/Z9WYKhcxU5Bckb+9hLiSx5VfIU2q2lNoxNkufnTgU"], body: "Vn0GbO5E1qrFWWRntj/m8aZmdh5DtKNvAnzWS+OTxKA",
    fileKey: [0x39, 0x40, 0x2a, 0x16, 0xd0, 0x7d, 0xa3, 0xcf, 0x1e, 0xbc, 0x1b, 0x7e, 0x9d, 0xf5, 0xc5, 0x14])

  static let all = [specification, document]

  func secretBytes() throws -> SecretBytes { try SecretBytes(copying: secret.span.bytes) }
  var bodyBytes: [UInt8] { AgeStanza.bytes(base64: Array(body.utf8)) ?? [] }

  func stanza(file: Int = 0) -> AgeStanza {
    AgeStanza("recipient-stanza", ["\(file)", "X25519"] + arguments, body: bodyBytes)
  }
}
