enum AnswerSamples {
  private static let one = String(repeating: "1", count: 32)
  private static let two = String(repeating: "2", count: 32)
  private static let key = String(repeating: "0123456789abcdef", count: 4)

  private static func share(_ cursor: Int, data: String = "AAEC") -> String {
    "{\"share\":\"\(one)\",\"cursor\":\(cursor),\"sender\":\"\(two)\",\"expires\":9,\"data\":\"\(data)\"}"
  }

  private static func page(_ shares: [String], next: String, more: String = "false") -> String {
    "{\"shares\":[\(shares.joined(separator: ","))],\"next\":\(next),\"more\":\(more)}"
  }

  static func all() throws -> [Sample] {
    let info = "\"shares\":3,\"bytes\":99,\"quota\":{\"bytes\":1000,\"shares\":10},\"newest\":7,\"time\":1700000000000}"
    let group = "{\"group\":\"\(one)\",\"owner\":\"\(two)\","
    return Sample.of(
      "answer-page",
      texts: [
        "valid-empty": page([], next: "3"), "valid-two": page([share(4), share(7)], next: "7", more: "true"),
        "valid-spaces":
          " { \"more\" : false , \"other\" : [1, {\"x\": \"\\u00e9\"}] , \"next\" : 5 , \"shares\" : [ ] } ",
        "out-of-order": page([share(7), share(4)], next: "7"), "before-the-cursor": page([share(3)], next: "4"),
        "goes-back": page([share(7)], next: "6"), "more-of-nothing": page([], next: "3", more: "true"),
        "too-many": page((4..<25).map { share($0) }, next: "30"), "no-base64": page([share(4, data: "A=")], next: "4"),
        "escaped-data": page([share(4, data: "AA\\/C")], next: "4"), "fraction": page([], next: "3.5"),
        "huge-number": page([], next: "9999999999999999999"), "negative": page([], next: "-1"),
        "deep": "{\"x\":" + String(repeating: "[", count: 5000), "html": "<html></html>", "nothing": "",
        "cut-off": String(page([share(4)], next: "4").dropLast(8)), "list": "[]", "behind": page([], next: "3") + "x",
      ])
      + Sample.of(
        "answer-receipt",
        texts: [
          "valid": "{\"cursor\":7,\"expires\":1700000000000}",
          "valid-more": "{\"expires\":1,\"new\":null,\"cursor\":0}",
          "no-cursor": "{\"expires\":1}", "text": "{\"cursor\":\"7\",\"expires\":1}",
          "negative": "{\"cursor\":-7,\"expires\":1}",
        ])
      + Sample.of(
        "answer-info",
        texts: [
          "valid-member": "{\"group\":\"\(one)\",\"ttl\":60,\(info)", "valid-owner": "{\"ttl\":60,\"users\":2,\(info)",
          "quota-in-quota":
            "{\"ttl\":60,\"quota\":{\"quota\":{\"shares\":1,\"bytes\":2}},\"shares\":1,\"bytes\":1,\"newest\":1,\"time\":1}",
          "no-quota": "{\"ttl\":60,\"shares\":1,\"bytes\":1,\"newest\":1,\"time\":1}",
        ])
      + Sample.of(
        "answer-group",
        texts: [
          "valid": group + "\"masterKey\":\"vgm_\(key)\",\"accessKey\":\"vga_\(key)\",\"ttl\":60}",
          "keys-exchanged": group + "\"masterKey\":\"vga_\(key)\",\"accessKey\":\"vgm_\(key)\",\"ttl\":60}",
          "short-key": group + "\"masterKey\":\"vgm_00\",\"accessKey\":\"vga_\(key)\",\"ttl\":60}",
          "capitals": group + "\"masterKey\":\"vgm_\(key.uppercased())\",\"accessKey\":\"vga_\(key)\",\"ttl\":60}",
          "no-owner": "{\"group\":\"\(one)\",\"masterKey\":\"vgm_\(key)\",\"accessKey\":\"vga_\(key)\",\"ttl\":60}",
        ])
      + Sample.of(
        "answer-user",
        texts: [
          "valid": "{\"user\":\"\(one)\",\"accessKey\":\"vga_\(key)\"}", "no-key": "{\"user\":\"\(one)\"}",
          "short-user": "{\"user\":\"11\",\"accessKey\":\"vga_\(key)\"}",
        ])
      + Sample.of(
        "answer-error",
        texts: [
          "valid": "{\"error\":\"unknown_recipient\",\"message\":\"there is \\\"nobody\\\"\"}", "no-code": "{}",
          "escaped": "{\"error\":\"\\u001b[31m\"}", "long": "{\"error\":\"\(String(repeating: "a", count: 65))\"}",
        ])
  }
}
