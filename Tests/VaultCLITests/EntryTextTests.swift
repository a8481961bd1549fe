import SealedPayload
import SecretVault
import Sodium
import Testing

@testable import VaultCLI

@Suite("A password entry as a text")
struct EntryTextTests {
  private func secret(_ text: String) throws -> SecretBytes { try SecretBytes(copying: Array(text.utf8).span.bytes) }

  private func plain(_ secret: borrowing SecretBytes) -> String {
    secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  private func text(_ secret: borrowing SecretBytes?) -> String? {
    switch secret {
    case .some(let secret): plain(secret)
    case .none: nil
    }
  }

  /// Title, user, password, web address and notes of a text; the fault if it is none.
  private func parts(_ source: String) throws -> Result<[String?], EntryText.Fault> {
    let bytes = try secret(source)
    do throws(EntryText.Fault) {
      let fields = try EntryText.fields(bytes.bytes)
      return .success(
        [text(fields.title), text(fields.user), plain(fields.password), text(fields.url), text(fields.notes)])
    } catch {
      return .failure(error)
    }
  }

  @Test(arguments: [
    ["mail", "ada", "s3cret", "https://mail.example", "two\nlines\n\nand more"],
    [nil, nil, " leading and trailing ", nil, nil],
    ["päss: wörd", nil, "user: nobody", nil, "\n\n"], [nil, "ada", "x", nil, "title: no title"],
  ])
  func `what is laid out is read as it was`(fields: [String?]) throws {
    var header = try PayloadHeader(kind: .password)
    for (name, value) in zip(["title", "user", "password", "url", "notes"], fields) {
      if let value { try header.add(field: name, value: Array(value.utf8).span.bytes) }
    }
    let laidOut = try EntryText.text(header)
    let source = laidOut.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    #expect(try parts(source) == .success(fields))
  }

  @Test func `lines may come in any order, be missing, and end as on Windows`() throws {
    #expect(try parts("password:p\ntitle: t") == .success(["t", nil, "p", nil, nil]))
    #expect(try parts("title: t\r\npassword: p\r\n\r\nn\r\n") == .success(["t", nil, "p", nil, "n\r"]))
  }

  @Test(arguments: [
    ("", EntryText.Fault.noPassword), ("title: t\n\npassword: p\n", .noPassword), ("password: \n", .noPassword),
    ("title: t\nuse: u\npassword: p\n", .line(2)), ("password: p\npassword: q\n", .repeated(.password)),
    ("Password: p\n", .line(1)), ("\u{FEFF}password: p\n", .line(1)),
  ])
  func `what is no entry is told apart, and nothing of it is repeated`(source: String, fault: EntryText.Fault) throws {
    #expect(try parts(source) == .failure(fault))
    #expect(!fault.reason.contains("use: u"))
  }

  @Test func `a field with a line's end in it can't be laid out`() throws {
    var header = try PayloadHeader(kind: .password)
    try header.add(field: "password", value: Array("a\nuser: b".utf8).span.bytes)
    var refused = false
    do { _ = try EntryText.text(header) } catch { refused = VaultError(error).code == .refused }
    #expect(refused)
  }

  @Test func `any bytes are read without a trap`() throws {
    var generator = SystemRandomNumberGenerator()
    let pieces = ["title:", "user: ", "password: ", "url:", "\n", "\r\n", "\r", " ", "x", "\u{0}", "é"]
    for _ in 0..<3000 {
      let source = (0..<Int.random(in: 0...12, using: &generator)).map { _ in pieces.randomElement() ?? "" }.joined()
      if case .success(let fields) = try parts(source) { #expect(fields[2]?.isEmpty == false) }
    }
  }
}
