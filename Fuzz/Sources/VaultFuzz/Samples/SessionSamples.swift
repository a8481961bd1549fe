@testable import PeerAuth

enum SessionSamples {
  static func all() throws -> [Sample] {
    let card = try HeaderTargets.example.people[1].card(label: "device", serial: 1).encoding
    let noChunk = many(0, 8)
    return Sample.of(
      "frames",
      [
        "valid-two-frames": [0, 0, 0, 20] + noChunk + [0, 3, 1, 2, 3, 0, 1, 4],
        "valid-empty-frame": [0, 0, 0, 20] + noChunk + [0, 0],
        "too-short-frame": [0, 9, 0, 20] + noChunk + [0, 3, 1, 2, 3],
        "huge-frame": [0, 0, 0, 20] + noChunk + [0xff, 0xff, 1],
        "truncated-in-length": [0, 0, 0, 20] + noChunk + [0],
        "truncated-in-frame": [0, 0, 0, 20] + noChunk + [0, 9, 1],
        "bad-frame-behind-a-good-one": [0, 0, 0, 5] + noChunk + [0, 1, 1, 0, 9] + many(0, 9), "empty": [],
      ])
      + Sample.of(
        "noise",
        [
          "key-of-small-order": [1, 0, 0, 0, 48] + many(0, 48), "wrong-tag": [1, 0, 0, 0, 48] + many(9, 48),
          "empty": [],
          "short-message": [1, 0, 0, 0, 31] + many(9, 31), "out-of-turn": [1, 0, 1, 0, 0],
          "second-message-garbled": [0, 1, 1, 0, 0, 0, 0, 96] + many(9, 96),
          "plain-first-message": [0, 0, 0, 0, 40] + many(9, 40) + [1, 0, 0, 0, 0, 64] + many(1, 64),
        ])
      + Sample.of(
        "session-raw",
        [
          "first-message-garbled": [0, 48] + many(9, 48), "key-of-small-order": [0, 48] + many(0, 48),
          "huge-frame": [0xff, 0xff],
          "short-frame": [0, 47] + many(9, 47), "truncated": [0, 48, 1], "http": Array("GET / HTTP/1.1\r\n\r\n".utf8),
          "empty": [],
        ])
      + Sample.of(
        "session-setup",
        [
          "valid": [3, 0, 0, 4, 0, 0], "no-proof": [4, 0, 0], "no-card": [3, 0, 0, 0, 0, 0],
          "proof-with-more": [3, 0, 1, 9],
          "card-with-more": [3, 0, 0, 4, 0, 1, 0], "garbled-proof": [0, 0, 128] + many(9, 128),
          "zero-key": [0, 0, 128] + many(0, 128),
          "card-truncated": [3, 0, 0, 0] + card.without(last: 1).counted,
          "card-of-another": [3, 0, 0, 0] + card.with(5, [0]).counted, "empty": [],
        ])
      + Sample.of(
        "session-dialled",
        [
          "valid": [5, 0, 0], "refused": [2, 0, 0], "refused-with-more": [2, 0, 1, 0],
          "no-verdict": [0, 0, 0], "verdict-alone": [1, 0, 0], "verdict-with-more": [1, 0, 1, 7],
          "proof-without-card": [3, 0, 0], "garbled-proof": [1, 0, 200] + many(9, 200), "card-with-more": [5, 0, 1, 0],
          "card-of-another": [3] + card.with(5, [0]).counted,
          "unknown-refusal": [0, 0, 2, 0, 9], "empty": [],
        ])
      + Sample.of(
        "session-messages",
        [
          "valid-known-and-unknown": [0xf1, 0, 2, 7, 7, 0x81, 0, 1, 5, 0, 0, 0],
          "valid-empty-message": [0x81, 0, 0, 0, 0, 0],
          "no-goodbye": [0xf1, 0, 2, 7, 7], "type-zero": [0x01, 0, 0], "over-limit": [0, 0, 6, 0, 0, 9, 9, 0, 1],
          "huge-length": [0, 0, 6, 0xff, 0xff, 0xff, 0xff, 0, 12],
          "short-header": [0, 0, 5, 0, 0, 0, 0, 0], "garbled": [0x0e, 0, 20, 0, 18] + many(9, 18),
          "unknown-over-limit": [0, 0, 6, 0, 1, 0, 1, 0, 9], "empty": [],
        ])
  }
}
