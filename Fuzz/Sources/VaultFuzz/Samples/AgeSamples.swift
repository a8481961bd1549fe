enum AgeSamples {
  private static let identity = "AGE-PLUGIN-QUORUM-1ZYG3ZYG3ZYG3ZYG3ZYG3ZYG3ZYCXZ06W"
  private static let add = "-> add-identity \(identity)\n\n"
  private static let addSecond = "-> add-identity AGE-PLUGIN-QUORUM-1YG3ZYG3ZYG3ZYG3ZYG3ZYG3ZYGU2KMN2\n\n"
  private static let share = "X/Z9WYKhcxU5Bckb+9hLiSx5VfIU2q2lNoxNkufnTgU"
  private static let body = "Vn0GbO5E1qrFWWRntj/m8aZmdh5DtKNvAnzWS+OTxKA"
  private static let stanza = "-> recipient-stanza 0 X25519 \(share)\n\(body)\n"
  private static let second = "-> recipient-stanza 1 X25519 \(share)\n\(body)\n"
  private static let done = "-> done\n\n"

  static func all() throws -> [Sample] {
    Sample.of(
      "age-identity",
      texts: [
        "valid": "\(identity)",
        "valid-lower-case": "\(identity.lowercased())",
        "mixed-case": "aGE-PLUGIN-QUORUM-1ZYG3ZYG3ZYG3ZYG3ZYG3ZYG3ZYCXZ06W",
        "wrong-checksum": "AGE-PLUGIN-QUORUM-1ZYG3ZYG3ZYG3ZYG3ZYG3ZYG3ZYCXZ06Q",
        "truncated": "AGE-PLUGIN-QUORUM-1ZYG3ZYG3ZYG3ZYG3ZYG3ZYG3ZYCXZ",
        "another-plugin": "AGE-PLUGIN-QUORAM-1ZYG3ZYG3ZYG3ZYG3ZYG3ZYG3ZYCXZ06W",
        "native": "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX",
        "short-id": "AGE-PLUGIN-QUORUM-1ZYG3ZYG3ZYG3ZYG3ZYG3ZYG3U6PTRQ",
        "empty": "",
      ])
      + Sample.of(
        "age-client",
        texts: [
          "valid": "\(add)\(stanza)\(done)",
          "valid-with-a-yes": "\(addSecond)\(stanza)\(done)-> ok yes\n\n",
          "valid-with-a-no": "\(addSecond)\(stanza)\(done)-> ok no\n\n",
          "valid-several-files": "\(add)\(stanza)\(second)\(done)",
          "valid-several-identities": "\(addSecond)\(add)\(stanza)\(second)\(done)-> ok\n\n",
          "valid-grease": "-> grease x\nAAAA\n\(add)-> recipient-stanza 0 scrypt x\n\n\(stanza)\(done)",
          "valid-nothing": "\(done)",
          "valid-broken-stanza": "\(add)-> recipient-stanza 0 X25519 \(share)\nAAAA\n\(done)",
          "valid-zero-share":
            "\(add)-> recipient-stanza 0 X25519 \(String(repeating: "A", count: 43))\n\(body)\n\(done)",
          "valid-no-identity": "-> add-identity x\n\n\(stanza)\(done)",
          "no-end": "\(add)\(stanza)",
          "no-stanza": "done\n\n",
          "padded": "\(add)-> recipient-stanza 0 X25519 \(share)\n\(body)=\n\(done)",
          "files-out-of-order": "\(add)\(second)\(stanza)\(done)",
          "file-with-zeros": "\(add)-> recipient-stanza 00 X25519 \(share)\n\(body)\n\(done)",
          "identity-with-more": "-> add-identity \(identity) x\n\n\(done)",
          "done-with-more": "-> done x\n\n",
          "empty": "",
        ])
  }
}
