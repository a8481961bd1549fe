import SealedPayload
import ShamirKit
import Sodium
@testable import VaultProtocol
import WireCodec

enum ItemSamples {
  static func all() throws -> [Sample] {
    func header(sealed: Bool, count: UInt64 = 40, description: String = "words") throws -> [UInt8] {
      let mode = sealed ? ItemHeader.Mode.sealed(ephemeral: try X25519.publicKey(of: secret(many(9, 32)))) : .shared
      return try ItemHeader(
        mode: mode, padding: .compact, keyID: SecretID(many(1, 16)), id: many(2, 32), ciphertextByteCount: count,
        description: description
      ).encoded()
    }
    let plain = try header(sealed: false)
    let sealed = try header(sealed: true)
    let ephemeral = 8 + 3 + 16 + 32
    let item = plain + many(3, 40)
    let text = ItemText.text(of: item)
    let armor =
      "-----BEGIN VAULT ITEM-----\n" + String(repeating: "A", count: 64) + "\nAAAA\n-----END VAULT ITEM-----\n"
    return Sample.of(
      "item-header",
      [
        "valid-shared": plain, "valid-sealed": sealed, "valid-followed-by-ciphertext": item, "empty": [],
        "truncated": plain.without(last: 1), "other-magic": plain.with(0, [0]), "unknown-version": plain.with(8, [2]),
        "unknown-mode": plain.with(9, [3]), "unknown-padding": plain.with(10, [0]),
        "ephemeral-of-small-order": sealed.with(ephemeral, many(0, 32)),
        "ephemeral-not-canonical": sealed.with(ephemeral, many(0xff, 32)),
        "no-ciphertext": plain.with(59, many(0, 8)), "huge-ciphertext": plain.with(59, many(0xff, 8)),
        "huge-description": plain.with(67, [0xff, 0xff]),
        "must-understand-extension": plain.without(last: 2) + [0, 4, 0, 2, 0, 0],
        "valid-odd-extension": plain.without(last: 2) + [0, 4, 0, 1, 0, 0],
      ])
      + Sample.of(
        "item-text",
        texts: [
          "valid-upper-case": text, "valid-lower-case": text.lowercased(), "valid-with-spaces": " \n" + text + "\n",
          "empty": "", "mixed-case": text.prefix(60) + text.dropFirst(60).lowercased(),
          "wrong-checksum": text.dropLast() + "Q",
          "card": "vaultpeer1qqqqqqqq", "cut": String(text.dropLast(20)),
        ])
      + Sample.of(
        "item-text-checksum",
        [
          "valid-item": item, "cut": item.without(last: 1), "trailing-byte": item + [0], "empty": [],
          "header-alone": plain,
        ])
      + Sample.of(
        "item-armor",
        texts: [
          "valid-two-lines": armor, "valid-behind-a-mail": "Hello,\n\nsee below.\n" + armor + "Yours\n",
          "valid-carriage-returns": armor.replacing("\n", with: "\r\n"), "no-last-line": String(armor.dropLast(25)),
          "empty": "", "long-line": armor.replacing("\nAAAA\n", with: "\n" + String(repeating: "A", count: 68) + "\n"),
          "line-behind-a-short-one": armor.replacing("\nAAAA\n", with: "\nAAAA\nAAAA\n"),
          "bits-left-over": armor.replacing("\nAAAA\n", with: "\nAB==\n"),
          "valid-padding": armor.replacing("\nAAAA\n", with: "\nAA==\n"),
          "three-signs-of-padding": armor.replacing("\nAAAA\n", with: "\nA===\n"),
          "no-digit": armor.replacing("\nAAAA\n", with: "\nAA*A\n"),
        ])
      + Sample.of(
        "item-label",
        [
          "valid-file": [1, 0] + bigEndian(UInt64(5)) + Array("a.txt".utf8).counted + Array("text/plain".utf8).counted
            + [0, 0],
          "valid-locked": [0, 1] + many(0xff, 8) + [0, 0, 0, 0, 0, 0], "empty": [],
          "flag-of-two": [1, 2] + many(0, 8) + many(0, 6),
          "long-name": [1, 0] + many(0, 8) + many(0x61, 256).counted + [0, 0, 0, 0],
        ])
      + Sample.of(
        "payload-part",
        [
          "valid-two-chunks": [1] + many(0, 9) + [0, 9] + many(0, 9) + [0xff, 0xff] + many(0, 22)
            + [0] + bigEndian(UInt64(12 + 70_000)) + [0, 10, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0] + many(5, 70_000),
          "unknown-layer": many(0, 45) + [2] + many(0, 100), "empty": [],
        ])
  }
}
