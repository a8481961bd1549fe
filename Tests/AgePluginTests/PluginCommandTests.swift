import Sodium
import Testing

@testable import AgePlugin

struct PluginCommandTests {
  private func text(_ command: PluginCommand) throws -> String {
    let text = try command.text()
    return String(decoding: text.withUnsafeBytes { Array($0) }, as: UTF8.self)
  }

  @Test func `each is the stanza that the specification has`() throws {
    #expect(try text(.message("hello")) == "-> msg\naGVsbG8\n")
    #expect(try text(.confirm("go?", yes: "yes", no: "no")) == "-> confirm eWVz bm8\nZ28/\n")
    #expect(try text(.faultOfIdentity(2, "no")) == "-> error identity 2\nbm8\n")
    #expect(try text(.faultOfStanza(file: 3, stanza: 1, "no")) == "-> error stanza 3 1\nbm8\n")
    #expect(try text(.fault("no")) == "-> error internal\nbm8\n")
    #expect(try text(.done) == "-> done\n\n")
  }

  @Test func `the key of a file is one line of base64 without padding`() throws {
    let bytes = Example.document.fileKey
    let key = try SecretBytes(copying: bytes.span.bytes)
    #expect(try text(.fileKey(file: 7, FileKey(key))) == "-> file-key 7\nOUAqFtB9o88evBt+nfXFFA\n")
  }
}
