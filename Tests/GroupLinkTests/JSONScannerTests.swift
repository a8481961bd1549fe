import Testing

@testable import GroupLink

@Suite struct JSONScannerTests {
  private func names(_ text: String) throws -> [String] {
    let bytes = Array(text.utf8)
    var scanner = JSONScanner(bytes.span.bytes)
    var names: [String] = []
    try scanner.beginObject()
    while let name = try scanner.nextName() {
      names.append(name)
      try scanner.skip()
    }
    try scanner.finish()
    return names
  }

  @Test func `members of every kind are passed over`() throws {
    let text = """
      {"a":1, "b" : "t\\"e\\u00e9xt" ,"c":[1,[2,{"d":null}],"]"],"e":{"f":{"g":"}"}},"h":true,"i":false,"j":-1.5e+7,
       "k":[],"l":{}}
      """
    #expect(try names(text) == ["a", "b", "c", "e", "h", "i", "j", "k", "l"])
  }

  @Test(arguments: [
    "", "{", "}", "[]", "{\"a\"}", "{\"a\":}", "{\"a\":1", "{\"a\":1,}", "{,\"a\":1}", "{\"a\":1 \"b\":2}", "{a:1}",
    "{\"a\":tru}", "{\"a\":nul}", "{\"a\":\"x}", "{\"a\":\"\\\"}", "{\"a\":1}x", "{\"a\":1}{}", "{\"a\\\"b\":1}",
    "{\"a\":\"line\nend\"}", "{\"a\":[1,]}", "{\"a\":[1 2]}", "\u{feff}{}",
  ])
  func `what isn't JSON is refused`(_ text: String) {
    #expect(throws: JSONScanner.Failure.malformed) { try names(text) }
  }

  @Test func `lists within lists end at a depth`() {
    let deep = "{\"a\":" + String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000) + "}"
    #expect(throws: JSONScanner.Failure.tooDeep) { try names(deep) }
  }

  private func number(_ text: String) throws -> Int64 {
    let bytes = Array(text.utf8)
    var scanner = JSONScanner(bytes.span.bytes)
    let number = try scanner.number()
    try scanner.finish()
    return number
  }

  @Test func `whole numbers are read`() throws {
    #expect(try number("0") == 0)
    #expect(try number(" -12 ") == -12)
    #expect(try number("999999999999999999") == 999_999_999_999_999_999)
  }

  @Test(arguments: ["", "-", "1.0", "1e3", "1E3", "9999999999999999999", "x", "\"1\""])
  func `other numbers are not`(_ text: String) {
    #expect(throws: JSONScanner.Failure.malformed) { try number(text) }
  }

  @Test(arguments: [3, 4])
  func `a text is no longer than its limit`(_ limit: Int) throws {
    let bytes = Array("\"four\"".utf8)
    var scanner = JSONScanner(bytes.span.bytes)
    do {
      let text = try scanner.text(limit: limit)
      #expect(limit == 4 && text.byteCount == 4)
    } catch {
      #expect(limit == 3 && error == .malformed)
    }
  }
}
