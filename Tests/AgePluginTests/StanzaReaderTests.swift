import Testing

@testable import AgePlugin

struct StanzaReaderTests {
  private func read(_ text: String, pieces: Int = .max) throws -> [AgeStanza] {
    var reader = StanzaReader()
    var stanzas: [AgeStanza] = []
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      reader.append(rest.prefix(pieces))
      rest = rest.dropFirst(pieces)
      while let stanza = try reader.next() { stanzas.append(stanza) }
    }
    return stanzas
  }

  @Test(arguments: [1, 2, 7, 64, 65, 66, .max])
  func `however the bytes are cut, the stanzas are the same`(_ pieces: Int) throws {
    let bodies = [0, 1, 47, 48, 49, 96, 200].map { [UInt8](repeating: 0xa5, count: $0) }
    let stanzas = bodies.map { AgeStanza("some-tag", ["a", "!~", "\($0.count)"], body: $0) } + [AgeStanza("done")]
    let text = stanzas.map { String(decoding: $0.text, as: UTF8.self) }.joined()
    #expect(try read(text, pieces: pieces) == stanzas)
  }

  @Test func `a body that ends with a full line has an empty one behind it`() {
    let text = String(decoding: AgeStanza("x", body: [UInt8](repeating: 0, count: 48)).text, as: UTF8.self)
    #expect(text == "-> x\n" + String(repeating: "A", count: 64) + "\n\n")
  }

  @Test func `nothing is told of a stanza before its last line is there`() throws {
    #expect(try read("-> done\n").isEmpty)
    #expect(try read("-> done\n\n") == [AgeStanza("done")])
    #expect(try read("-> x\n" + String(repeating: "A", count: 64) + "\n").isEmpty)
  }

  @Test(arguments: [
    "done\n\n", "->done\n\n", "-> \n\n", "->\n\n", "-> a  b\n\n", "-> a \n\n", "-> a\tb\n\n", "-> ä\n\n", "\n",
    "-> a\r\n\r\n", "-> a\n=\n", "-> a\nQQ==\n", "-> a\nQR\n", "-> a\nQ\n", "-> a\nQQ Q\n", "-> a\n-> b\n",
  ])
  func `what is no stanza is refused`(_ text: String) {
    #expect(throws: AgeError.self) { try read(text) }
  }

  @Test func `a line or a body beyond the limit is refused before it is there`() throws {
    let long = String(repeating: "a", count: StanzaReader.lineLimit)
    #expect(throws: AgeError.tooMuch("a line")) { try read("-> " + long) }
    #expect(try read("-> " + long.dropLast(3) + "\n\n").count == 1)
    let line = String(repeating: "A", count: 64) + "\n"
    let lines = StanzaReader.bodyLimit / 48
    #expect(try read("-> x\n" + String(repeating: line, count: lines) + "\n").count == 1)
    #expect(throws: AgeError.tooMuch("a stanza")) {
      try read("-> x\n" + String(repeating: line, count: lines + 1))
    }
  }
}
