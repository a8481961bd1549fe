enum GatheringSamples {
  static func all() throws -> [Sample] {
    Sample.of(
      "gathering-code",
      texts: [
        "valid": "7-maple-harbor", "valid-upper-case": " 99 MAPLE  HARBOR", "valid-beginnings": "07-mapl-harb",
        "number-zero": "0-maple-harbor", "number-too-large": "100-maple-harbor", "no-number": "maple-harbor",
        "unknown-word": "7-mapple-harbor", "several-words": "7-mar-harbor", "two-letters": "7-ma-harbor",
        "three-words": "7-maple-harbor-maple", "other-letters": "7-mäple-harbor", "empty": "",
      ])
      + Sample.of(
        "gathering-message",
        [
          "valid-greeting": [1, 1, 0, 7] + many(1, 64), "valid-hello": [2] + many(1, 96),
          "valid-answer": [3] + many(1, 64), "valid-confirmation": [4] + many(1, 64),
          "valid-list": [16, 2] + many(1, 64), "valid-yes": [19] + many(1, 96), "valid-no": [20],
          "valid-said-yes": [21, 20] + many(1, 96), "valid-key": [23] + many(1, 16),
          "valid-keyed": [24, 20] + many(1, 16), "valid-ended": [22, 7, 0, 0],
          "other-version": [1, 2, 0, 7] + many(1, 64), "number-zero": [1, 1, 0, 0] + many(1, 64),
          "number-too-large": [1, 1, 0, 100] + many(1, 64), "list-of-one": [16, 1] + many(1, 32),
          "list-too-long": [16, 22] + many(1, 704), "list-truncated": [16, 3] + many(1, 64),
          "unknown-message": [23], "unknown-reason": [22, 8, 0, 0], "position-too-large": [21, 21] + many(1, 64),
          "no-with-more": [20, 0], "reveal-without-card": [17, 0, 0] + many(1, 32), "empty": [],
        ])
      + Sample.of(
        "gathering",
        [
          "honest": [0] + many(1, 5) + [7] + many(1, 4) + [8, 1, 9, 0, 0, 1] + many(1, 4),
          "two-guests": [0, 0] + many(1, 10) + [7] + many(1, 9) + [8, 1, 9, 0, 0, 1, 9, 0, 1, 1] + many(1, 9),
          "changed-hello": [0, 1, 3, 0, 5, 1, 1, 1, 1], "too-late": [0, 10, 255, 10, 255],
        ])
      + Sample.of("gathering-guest", ["honest": [0, 1, 0, 0, 3, 1, 2, 0, 9], "two-lists": [0, 0]])
      + Sample.of("gathering-opener", ["honest": [2, 0, 1, 3, 1, 1, 9], "too-early": [0, 1]])
  }
}
