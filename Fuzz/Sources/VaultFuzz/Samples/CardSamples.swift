@testable import PeerAuth
import WireCodec

enum CardSamples {
  static func all() throws -> [Sample] {
    let person = HeaderTargets.example.people[0]
    let other = HeaderTargets.example.people[1]
    let addresses = try ["192.0.2.7:4721", "[2001:db8::7]:4721", "ann.example.org:4721"].map {
      try PeerAddress.parse($0)
    }
    let beacon = many(0xbe, 16)
    let card = try person.card(label: "Ann", addresses: addresses, serial: 7, beaconKey: beacon)
    let plain = try person.card(label: "Ann", serial: 7)
    let newer = try person.card(label: "Ann's", serial: 8)
    let unsigned = try PeerCard(keys: person.keys, label: "", serial: 0)
    let bytes = card.encoding
    let afterKeys = 2 + 96
    let afterLabel = afterKeys + 4
    let section = plain.encoding.count - 64 - 2
    let oddExtension = plain.encoding.without(last: 66) + [0, 4, 0, 1, 0, 0]
    return try binary() + [
      Sample(target: "card", name: "valid-with-an-extension", bytes: oddExtension.with(1, [0]))
    ]
      + Sample.of(
        "card",
        [
          "valid-with-everything": bytes, "valid-without-addresses": plain.encoding,
          "valid-unsigned": unsigned.encoding,
          "valid-with-wrong-signature": bytes.with(bytes.count - 1, [bytes[bytes.count - 1] ^ 1]),
          "empty": [], "truncated-in-keys": Array(bytes.prefix(50)), "truncated-in-label": Array(bytes.prefix(100)),
          "truncated-in-address": Array(bytes.prefix(afterLabel + 3)), "truncated-in-signature": bytes.without(last: 1),
          "trailing-byte": bytes + [0], "unknown-version": bytes.with(0, [2]), "unknown-flag": bytes.with(1, [7]),
          "flag-without-signature": unsigned.encoding.with(1, [2]),
          "keys-not-distinct": bytes.with(34, Array(bytes[66..<98])),
          "key-of-small-order": bytes.with(34, many(0, 32)), "key-not-canonical": bytes.with(34, many(0xff, 32)),
          "signing-key-not-on-curve": bytes.with(2, many(2, 32)), "huge-label": bytes.with(afterKeys, [255]),
          "label-not-utf8": bytes.with(afterKeys + 1, [0xff]), "label-with-control": bytes.with(afterKeys + 1, [0x1b]),
          "huge-address-count": bytes.with(afterLabel, [255]), "unknown-address-kind": bytes.with(afterLabel + 1, [5]),
          "port-zero": bytes.with(afterLabel + 6, [0, 0]),
          "huge-extensions": plain.encoding.with(section, [0xff, 0xff]),
          "must-understand-extension": plain.encoding.without(last: 66) + [0, 4, 0, 2, 0, 0] + many(0, 64),
        ])
      + Sample.of(
        "card-text",
        texts: [
          "valid-published": card.text(), "valid-in-a-file": card.fileText(), "valid-qr": card.qrText(),
          "valid-with-white-space": " \t\(plain.text())\r\n", "wrong-prefix": "x" + card.text(),
          "mixed-case": "V" + card.text().dropFirst(), "wrong-checksum": card.text().dropLast() + "q",
          "invalid-character": card.text().dropLast(9) + "b" + card.text().suffix(8), "prefix-alone": "vaultpeer1",
          "not-ascii": card.text().dropLast() + "ſ", "inner-white-space": "vaultpeer1 " + card.text().dropFirst(10),
          "too-long": "vaultpeer1" + String(repeating: "q", count: 4087), "empty": "",
          "unknown-version": Bech32m.encode(prefix: PeerCard.textPrefix, bytes.with(0, [2])),
          "wrong-signature": Bech32m.encode(
            prefix: PeerCard.textPrefix, plain.encoding.with(plain.encoding.count - 1, [0])),
        ])
      + Sample.of(
        "card-checksum",
        [
          "valid-published": groups(plain.encoding), "padding-not-zero": groups(plain.encoding, ending: 1),
          "needless-group": groups(plain.encoding) + [0], "empty": [], "one-group": [3],
          "wrong-signature": groups(plain.encoding.with(plain.encoding.count - 1, [0])),
          "truncated": groups(plain.encoding.without(last: 30)), "too-long": many(1, 3500),
        ])
      + Sample.of(
        "card-update",
        [
          "valid-higher-serial": plain.encoding.counted + newer.encoding,
          "valid-signed-at-last": plain.unsigned.encoding.counted + plain.encoding,
          "same-serial": plain.encoding.counted + plain.encoding,
          "lower-serial": newer.encoding.counted + plain.encoding,
          "unsigned": plain.encoding.counted + newer.unsigned.encoding,
          "other-keys": plain.encoding.counted + (try other.card(label: "", serial: 9)).encoding,
        ])
  }

  private static func binary() throws -> [Sample] {
    let stored = [1] + many(1, 32) + many(2, 32) + many(3, 32)
    return Sample.of(
      "extensions",
      [
        "valid-empty": [0, 0], "valid-two-entries": [0, 9, 0, 1, 0, 0, 0, 3, 0, 1, 0xff], "empty": [],
        "must-understand": [0, 4, 0, 2, 0, 0], "not-ascending": [0, 8, 0, 3, 0, 0, 0, 1, 0, 0],
        "twice-the-same": [0, 8, 0, 1, 0, 0, 0, 1, 0, 0], "huge-section": [0xff, 0xff],
        "huge-entry": [0, 4, 0, 1, 0xff, 0xff],
        "truncated-in-entry": [0, 5, 0, 1, 0, 9, 1], "truncated-in-type": [0, 1, 0], "trailing-byte": [0, 0, 0],
      ])
      + Sample.of(
        "address",
        texts: [
          "valid-ipv4": "192.0.2.7:4721", "valid-ipv6": "[2001:db8::7]:4721", "valid-bare-ipv6": "2001:db8::7",
          "valid-name": "Ann.Example.org", "valid-ipv4-in-ipv6": "[::ffff:192.0.2.7]:1", "port-zero": "host:0",
          "huge-port": "host:65536", "number-as-name": "127.1:80", "hexadecimal-name": "0x7f:80", "empty": "",
          "empty-host": ":80", "empty-label": "a..b:80", "long-label": String(repeating: "a", count: 64) + ":80",
          "open-bracket": "[::1", "text-behind-bracket": "[::1]x", "name-in-brackets": "[host]:80",
          "scope": "[fe80::1%lo]:80",
          "sign-before-port": "host:+80", "arabic-port": "host:٨٠", "nul": "ho\0st:80",
          "kelvin-sign": "\u{212A}elvin:80",
          "hyphen-first": "-a:80", "two-colons": "a:b:80", "too-long": String(repeating: "a.", count: 200),
        ])
      + Sample.of(
        "address-wire",
        [
          "valid-ipv4": [4, 192, 0, 2, 7, 0x12, 0x71], "valid-ipv6": [6] + many(1, 16) + [0, 1],
          "valid-name": [0, 4] + Array("host".utf8) + [0, 80], "port-zero": [4, 1, 1, 1, 1, 0, 0], "unknown-kind": [1],
          "upper-case": [0, 4] + Array("Host".utf8) + [0, 80],
          "number-as-name": [0, 7] + Array("1.2.3.4".utf8) + [0, 80],
          "ipv6-as-name": [0, 3] + Array("::1".utf8) + [0, 80], "truncated-in-name": [0, 9, 0x61],
          "empty-name": [0, 0, 0, 80],
          "huge-name": [0, 255] + many(0x61, 255) + [0, 80], "name-not-utf8": [0, 1, 0xff, 0, 80],
          "trailing-dot": [0, 2, 0x61, 0x2e, 0, 80], "nul": [0, 2, 0x61, 0, 0, 80],
          "trailing-byte": [4, 1, 1, 1, 1, 0, 1, 0],
        ])
      + Sample.of(
        "identity",
        [
          "valid": stored, "unknown-version": stored.with(0, [2]), "truncated": stored.without(last: 1),
          "trailing-byte": stored + [0], "empty": [], "noise-and-box-the-same": stored.with(65, many(2, 32)),
        ])
  }

  /// The five-bit groups of a text, without its checksum; `ending` is added to the last.
  private static func groups(_ bytes: [UInt8], ending: UInt8 = 0) -> [UInt8] {
    let alphabet = Array("qpzry9x8gf2tvdw0s3jn54khce6mua7l".utf8)
    let text = Bech32m.encode(prefix: PeerCard.textPrefix, bytes)
    var groups = text.utf8.dropFirst(10).dropLast(6).map { UInt8(alphabet.firstIndex(of: $0) ?? 0) }
    if let last = groups.popLast() { groups.append(last | ending) }
    return groups
  }
}
