@testable import PeerAuth
@testable import SecretVault

enum TextSamples {
  /// The example of `docs/formats/backup.md`.
  private static let kitLines = """
    qygs qqqp 3087 26qq lyha yu6y zyj6 c424
    2424 2424 2424 2424 2424 2424 2424 2424
    2424 2424 2424 2424 lp3k ukqx mk57 mn7g
    v2hm tcu6 2jqt sslf 5rw9 day4 538y 4e7z
    74rh r70m j37c e0a2 pgq3 lnht lu8t 5x8q
    tym
    """
  private static let kit = "vaultkit1" + kitLines.filter { !$0.isWhitespace }

  static func all() throws -> [Sample] {
    let card = try HeaderTargets.example.people[0].card(label: "Ann", serial: 7).text()
    let zeros = String(repeating: "0", count: 64)
    func setting(_ key: SettingKey, _ value: String) -> [UInt8] {
      [0, UInt8(SettingKey.allCases.firstIndex(of: key) ?? 255)] + Array(value.utf8)
    }
    return Sample.of(
      "setting",
      [
        "valid-listen": setting(.listen, "127.0.0.1:4721"), "valid-listen-ipv6": setting(.listen, "[::1]:0"),
        "listen-without-port": setting(.listen, "host"),
        "listen-huge-port": setting(.listen, "host:99999999999999999999"),
        "listen-control": setting(.listen, "ho\u{1b}st:1"),
        "listen-empty-host": setting(.listen, "[]:1"),
        "valid-command": setting(.notifyCommand, "true"),
        "long-command": setting(.notifyCommand, String(repeating: "x", count: 4097)),
        "valid-bytes": setting(.quotaBytes, "64g"),
        "bytes-overflow": setting(.quotaBytes, "99999999999T"), "bytes-negative": setting(.quotaBytes, "-1"),
        "bytes-unit-alone": setting(.quotaBytes, "K"), "bytes-sharp-s": setting(.quotaBytes, "1ß"),
        "bytes-ligature": setting(.quotaBytes, "1\u{fb05}"), "bytes-kelvin": setting(.quotaBytes, "1\u{212A}"),
        "valid-shares": setting(.quotaShares, "10000"), "shares-over-limit": setting(.quotaShares, "1000001"),
        "shares-not-a-number": setting(.quotaShares, "many"), "bytes-of-nothing": setting(.quotaBytes, ""),
        "shares-arabic": setting(.quotaShares, "١٢"),
        "valid-interval": setting(.checkInterval, "12h"), "interval-of-nothing": setting(.checkInterval, "h"),
        "valid-listen-off": setting(.listen, "off"), "valid-confirm": setting(.confirmSharing, "on"),
        "confirm-maybe": setting(.confirmSharing, "maybe"),
        "valid-confirm-time": setting(.confirmTime, "10m"), "confirm-time-too-long": setting(.confirmTime, "601s"),
        "confirm-time-full-width": setting(.confirmTime, "６０s"),
        "confirm-time-overflow": setting(.confirmTime, "9999999999w"),
        "valid-policy-ask": setting(.releasePolicy, "ask"), "valid-policy-delay": setting(.releasePolicy, "delay:48h"),
        "policy-delay-of-nothing": setting(.releasePolicy, "delay:"),
        "policy-delay-too-long": setting(.releasePolicy, "delay:53w"),
        "valid-limit": setting(.releaseLimit, "0"), "limit-negative": setting(.releaseLimit, "-1"),
        "valid-interval-off": setting(.checkInterval, "off"),
        "interval-too-long": setting(.checkInterval, "366d"),
        "interval-overflow": setting(.checkInterval, "99999999999999999999d"),
        "interval-of-seconds": setting(.checkInterval, "1s"), "interval-without-number": setting(.checkInterval, "d"),
        "valid-time": setting(.agentTimeout, "90s"), "valid-minutes": setting(.agentTimeout, "10"),
        "time-overflow": setting(.agentTimeout, "9223372036854775807h"), "time-negative": setting(.agentTimeout, "-1m"),
        "time-unit-alone": setting(.agentTimeout, "h"), "time-empty": setting(.agentTimeout, ""),
        "valid-free": setting(.keepFree, "1G"), "valid-free-auto": setting(.keepFree, "auto"),
        "free-percent": setting(.keepFree, "5%"), "valid-introductions": setting(.introductions, "off"),
        "introductions-some": setting(.introductions, "some"), "valid-ble": setting(.ble, "on"),
        "ble-maybe": setting(.ble, "perhaps"),
        "valid-adapter": setting(.bleAdapter, "hci0"),
        "valid-adapter-address": setting(.bleAdapter, "00:aa:01:00:00:2F"),
        "adapter-without-number": setting(.bleAdapter, "hci"),
        "adapter-sign": setting(.bleAdapter, "+0:AA:01:00:00:00"),
        "valid-ble-limit": setting(.bleLimit, "100000"), "ble-limit-negative": setting(.bleLimit, "-1"),
        "valid-pigeons-only": setting(.pigeonsOnly, "on"), "pigeons-maybe": setting(.pigeonsOnly, "rarely"),
        "valid-read-receipts": setting(.readReceipts, "off"), "valid-carry": setting(.carry, "on"),
        "carry-empty": setting(.carry, ""),
        "valid-carry-bytes": setting(.carryBytes, "64M"), "carry-bytes-over-limit": setting(.carryBytes, "2T"),
        "valid-carry-day": setting(.carryDay, "0"), "carry-day-negative": setting(.carryDay, "-1"),
        "valid-carry-peer": setting(.carryPeer, "500K"), "carry-peer-overflow": setting(.carryPeer, "99999999999T"),
        "valid-battery": setting(.carryBattery, "100"), "battery-over-full": setting(.carryBattery, "101"),
        "battery-sign": setting(.carryBattery, "-1"),
        "valid-fair-share": setting(.carryFairShare, "256M/200"),
        "valid-fair-share-off": setting(.carryFairShare, "off"),
        "fair-share-without-percent": setting(.carryFairShare, "256M"),
        "fair-share-of-nothing": setting(.carryFairShare, "/"),
        "fair-share-twice": setting(.carryFairShare, "1M/2/3"),
        "fair-share-overflow": setting(.carryFairShare, "1M/99999999999999999999"),
      ])
      + Sample.of(
        "peer-address",
        texts: [
          "valid-name": "host:4721", "valid-ipv6": "[2001:db8::7]:4721", "no-port": "host", "bare-ipv6": "::1",
          "port-zero": "host:0", "empty": "", "space": "ho st:1",
          "sign": "host:+1", "two-ports": "host:1:2", "name-in-brackets": "[host]:1",
        ])
      + Sample.of(
        "card-file",
        texts: [
          "valid-card": card + "\n", "valid-byte-order-mark": "\u{feff}" + card, "valid-upper-case": card.uppercased(),
          "picture": "\u{89}PNG\r\n\u{1a}\n", "other-text": "hello",
          "damaged-card": card.dropLast() + "q", "two-cards": card + "\n" + card, "empty": "", "turkish": "VAULTPEER1İ",
        ])
      + Sample.of(
        "recovery-kit-page",
        texts: [
          "valid-text": kit, "valid-qr": kit.uppercased(),
          "valid-page": "KIT\n\nvaultkit1\n" + kitLines + "\n\nmore\n", "wrong-checksum": kit.dropLast() + "q",
          "prefix-alone": "vaultkit1", "empty": "", "not-ascii": kit.dropLast() + "ſ",
        ])
      + Sample.of(
        "scan-answer",
        texts: [
          "valid-one": "qr 3 YWJj\n", "valid-two": "qr 3 YWJj\nqr 1 YQ==\n", "wrong-count": "qr 4 YWJj\n",
          "huge-count": "qr 99999999999999999999 YWJj\n", "not-base64": "qr 3 YW!j\n",
          "other-word": "ean 3 YWJj\n", "too-few-words": "qr 3\n", "valid-without-newline": "qr 0 ",
          "negative-count": "qr -3 YWJj\n", "empty": "",
        ])
      + Sample.of(
        "stripping-answer",
        texts: [
          "valid-one": "size 1000\nkeep 0 1000\nremoved 0\n",
          "valid-put": "size 1000\nkeep 0 2\nput 3 YWJj\nkeep 900 100\nremoved 898\n",
          "other-size": "size 1001\nkeep 0 1000\nremoved 0\n",
          "backwards": "size 1000\nkeep 5 5\nkeep 0 5\nremoved 0\n",
          "outside": "size 1000\nkeep 999 2\nremoved 0\n", "nothing": "size 1000\nremoved 1000\n",
          "huge": "size 1000\nkeep 18446744073709551615 18446744073709551615\nremoved 0\n",
          "wrong-count": "size 1000\nkeep 0 1\nput 4 YWJj\nremoved 0\n", "cut-off": "size 1000\nkeep 0 1000\n",
          "empty": "",
        ])
      + Sample.of(
        "base64",
        texts: [
          "valid-three": "YWJj", "valid-one": "YQ==", "valid-empty": "", "rest-not-zero": "YR==",
          "padding-inside": "YQ==YQ==", "too-much-padding": "Y===", "short": "YWJ", "url-alphabet": "-_-_",
        ])
      + Sample.of(
        "vcard",
        texts: [
          "valid-4": "BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Ann\r\nTEL;TYPE=\"a:b\",home:+49\r\n  1\r\nEND:VCARD\r\n",
          "valid-3": "begin:vcard\nversion:3.0\nitem1.FN:x\\, y\\n\nN:a;b;;;\nend:vcard", "empty": "",
          "no-name": "BEGIN:VCARD\nVERSION:4.0\nEND:VCARD\n", "no-version": "BEGIN:VCARD\nFN:x\nEND:VCARD\n",
          "version-2.1": "BEGIN:VCARD\nVERSION:2.1\nFN:x\nEND:VCARD\n",
          "two-cards": "BEGIN:VCARD\nVERSION:4.0\nFN:x\nEND:VCARD\nBEGIN:VCARD\nVERSION:4.0\nFN:y\nEND:VCARD\n",
          "open-quote": "BEGIN:VCARD\nVERSION:4.0\nFN;X=\":x\nEND:VCARD\n",
          "no-end": "BEGIN:VCARD\nVERSION:4.0\nFN:x\n",
          "control": "BEGIN:VCARD\nVERSION:4.0\nFN:x\u{1b}\nEND:VCARD\n",
          "no-colon": "BEGIN:VCARD\nVERSION:4.0\nFN\nEND:VCARD\n",
        ])
      + Sample.of(
        "assuan-line",
        texts: [
          "valid-ok": "OK Pleased to meet you",
          "valid-error": "ERR 83886179 Operation cancelled <Pinentry>",
          "valid-data": "D open%20%25 sesame",
          "valid-status": "S PASSWORD_FROM_CACHE",
          "valid-comment": "#",
          "empty": "",
          "inquiry": "INQUIRE QUALITY open",
          "no-number": "ERR Operation cancelled",
          "number-too-large": "ERR 4294967296 x",
          "cut-escape": "D open%2",
          "no-escape": "D open%xx",
          "carriage-return": "OK\r",
          "raw-carriage-return": "D a\rb",
          "too-long": "D " + String(repeating: "x", count: 999),
        ])
      + Sample.of(
        "clipboard-note",
        texts: [
          "valid": "vault clipboard 1\nwl-copy\n" + zeros + "\n" + zeros + "\n",
          "valid-terminal": "vault clipboard 1\nterminal\n" + zeros + "\n" + zeros + "\n", "empty": "",
          "other-program": "vault clipboard 1\nrm\n" + zeros + "\n" + zeros + "\n",
          "short-salt": "vault clipboard 1\nxsel\n00\n" + zeros + "\n",
          "no-newline": "vault clipboard 1\nxclip\n" + zeros + "\n" + zeros,
          "upper-case": "vault clipboard 1\nxclip\n" + zeros + "\n" + String(repeating: "A", count: 64) + "\n",
        ])
      + Sample.of("secret-text", texts: ["escape": "a\u{1b}\"\\\n", "emoji": "👩‍👩‍👧\u{202e}", "empty": ""])
      + Sample.of(
        "printable",
        texts: [
          "escape-sequence": "\u{1}\u{0}\u{1b}[2J", "right-to-left": "\u{1}\u{0}a\u{202e}b",
          "newline": "\u{1}\u{0}a\r\n\tb\"\\", "emoji": "\u{1}\u{0}👩‍👩‍👧", "cut": "\0\u{2}abc", "empty": "",
          "private-use": "\u{1}\u{0}\u{e000}\u{10ffff}", "combining": "\u{1}\u{0}e\u{301}\u{fe0f}",
        ])
      + Sample.of(
        "shell-word",
        texts: [
          "plain": "bob", "quote": "it's", "quote-with-a-mark": "a'\u{301}$(ls)", "option": "-x",
          "option-with-a-mark": "-\u{301}x", "empty": "", "command": "$(ls)`ls`",
          "newline": "a\nb", "backslash": "a\\'b", "quotes-alone": "''",
        ])
      + Sample.of(
        "path",
        texts: [
          "valid-name": "name", "valid-in-folder": "folder/name", "valid-in-root": "/name",
          "valid-slash-with-a-mark": "folder/\u{301}name", "folder-alone": "folder/", "dots": "..",
          "nul": "a\0b", "empty": "", "root": "/", "long-name": String(repeating: "n", count: 256),
          "valid-two-slashes": "//name",
        ])
      + Sample.of(
        "peer-name",
        texts: [
          "plain": "Bob", "sharp-s": "Straße", "final-sigma": "ΟΔΟΣ", "dotted-i": "İI", "ligature": "ﬃ",
          "invisible": "a\u{200b}\u{ad}b", "braille-blank": "\u{2800}", "blanks": " a  b ",
          "combining": "e\u{301}\u{345}", "hangul": "\u{1100}\u{1161}\u{11a8}", "empty": "", "full-width": "ＡＢ",
          "arabic-ligature": "\u{fdfa}",
        ])
      + Sample.of(
        "measures",
        [
          "zero": many(0, 17), "all-ones": many(0xff, 17), "least": [0x80] + many(0, 16),
          "infinite": [0x7f, 0xf0] + many(0, 15), "round-up": [0x40, 0x8f, 0x3c] + many(0, 14),
        ])
  }
}
