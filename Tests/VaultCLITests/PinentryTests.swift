import Glibc
import SecretVault
import Sodium
import Testing

@testable import VaultCLI

@Suite("Lines of a program that asks for a passphrase")
struct AssuanLineTests {
  private func line(_ text: String) throws -> AssuanLine { try AssuanLine(Array(text.utf8).span.bytes) }

  private func decoded(_ text: String) throws -> SecretBytes {
    var collected = try SecretText()
    try AssuanLine.append(dataOf: Array(text.utf8).span.bytes, to: &collected)
    return try collected.finish()
  }

  @Test func whatAServerAnswersIsToldApart() throws {
    #expect(try line("OK") == .ok && line("OK Pleased to meet you") == .ok)
    #expect(try line("ERR 83886179 Operation cancelled <Pinentry>") == .failure(83_886_179))
    #expect(try line("ERR 4294967295") == .failure(.max))
    #expect(try line("D ") == .data && line("D x y") == .data)
    #expect(try line("S PASSWORD_FROM_CACHE") == .note && line("# a word") == .note && line("#") == .note)
  }

  @Test(arguments: [
    "", "OKAY", "ok", " OK", "ERR", "ERR ", "ERR x", "ERR -1", "ERR 1x", "ERR 4294967296", "ERR 99999999999999999999",
    "D", "S",
    "INQUIRE QUALITY", "BYE", "\u{0}",
  ])
  func whatMakesNoSenseIsRefused(text: String) {
    #expect(throws: AssuanLine.Fault.malformed) { try line(text) }
  }

  @Test func aLineHasAtMost1000Bytes() throws {
    #expect(try line("D " + String(repeating: "x", count: 998)) == .data)
    #expect(throws: AssuanLine.Fault.tooLong) { try line("D " + String(repeating: "x", count: 999)) }
  }

  @Test(arguments: [
    ("D ", ""), ("D a b", "a b"), ("D 100%25", "100%"), ("D %0a%0D", "\n\r"), ("D h%C3%a4ß", "häß"), ("D %61", "a"),
  ])
  func dataIsDecoded(text: String, expected: String) throws {
    let found = try decoded(text)
    let isSame = found.matches(try SecretBytes(copying: Array(expected.utf8).span.bytes))
    #expect(isSame)
  }

  @Test(arguments: ["D %", "D %4", "D %4x", "D %x4", "D a%%", "D a\rb", "D a\u{0}b"])
  func dataThatIsWronglyEncodedIsRefused(text: String) {
    #expect(throws: AssuanLine.Fault.malformed) { _ = try decoded(text) }
  }

  @Test func allDataTogetherIsNoLongerThanAPassphrase() throws {
    var collected = try SecretText()
    let line = Array(("D " + String(repeating: "x", count: 900)).utf8)
    try AssuanLine.append(dataOf: line.span.bytes, to: &collected)
    var fault: AssuanLine.Fault?
    do { try AssuanLine.append(dataOf: line.span.bytes, to: &collected) } catch { fault = error as? AssuanLine.Fault }
    #expect(fault == .tooLong)
    #expect(collected.count == Passphrase.byteLimit)
  }
}

@Suite("A program that asks for a passphrase")
struct PinentryTests {
  /// Whoever is told something may have ended.
  init() { signal(SIGPIPE, SIG_IGN) }

  /// A pinentry whose every answer is this, a line each; what it is told goes into a file beside it.
  private func answers(_ lines: [String], patience: Int64 = 60_000) throws -> (Pinentry, folder: String) {
    let folder = Shell.folder()
    var script = ["#!/bin/sh", "exec 2>/dev/null"]
    for (index, line) in lines.enumerated() {
      if index > 0 { script.append("read -r told; echo \"$told\" >>'\(folder)/told'") }
      script.append("printf '\(line)'")
    }
    Shell.file(folder + "/pinentry", script.joined(separator: "\n") + "\n", mode: 0o700)
    return (Pinentry(path: folder + "/pinentry", patience: patience), folder)
  }

  private func remove(_ folder: String) {
    for name in ["pinentry", "told"] { unlink(folder + "/" + name) }
    rmdir(folder)
  }

  private static let ok = "OK\\n"

  @Test func itIsToldWhatIsAskedAndItsAnswerIsTaken() throws {
    let (pinentry, folder) = try answers(
      [
        "# hello\\nOK here\\n", Self.ok, Self.ok, "ERR 1 no prompts\\n", Self.ok,
        "S NOTE\\nD open%%20\\nD sesame\\nOK\\n",
      ])
    defer { remove(folder) }
    let answer = try pinentry.ask("of 100%\r\nvaults", complaint: "not that")
    let told = String(decoding: try PublicFile.read(path: folder + "/told", limit: 4096), as: UTF8.self)
    #expect(
      told == "SETTITLE vault\nSETDESC of 100%25%0D%0Avaults\nSETPROMPT Passphrase:\nSETERROR not that\nGETPIN\n")
    guard let answer else {
      Issue.record("no answer")
      return
    }
    let isSame = answer.matches(try SecretBytes(copying: Array("open sesame".utf8).span.bytes))
    #expect(isSame)
  }

  @Test(arguments: [
    ("ERR 83886179 cancelled\\n", nil as String?), ("ERR 83886142 timeout\\n", nil),
    ("ERR 83918950 no terminal\\n", "error"), ("OK", "makes no sense"), ("INQUIRE x\\n", "makes no sense"),
    ("D x\\n", "makes no sense"), ("", "makes no sense"),
  ])
  func aNoIsNoAnswerAndAnythingElseIsSaid(last: String, expected: String?) throws {
    let (pinentry, folder) = try answers(["OK\\n", Self.ok, Self.ok, Self.ok, last])
    defer { remove(folder) }
    do {
      let answer = try pinentry.ask("x", complaint: nil)
      let isNone =
        switch answer {
        case .none: true
        case .some: false
        }
      #expect(isNone && expected == nil)
    } catch {
      #expect(expected != nil && VaultError(error).reason.contains(expected ?? ""))
      #expect(VaultError(error).code == .wrongPassphrase)
    }
  }

  @Test(arguments: [
    ("echo OK; exec sleep 60", 500 as Int64, "in time"), ("exec yes '#'", 60_000, "too long"),
    ("echo OK; head -c 2000 /dev/zero | tr '\\0' x; cat >/dev/null", 60_000, "too long"),
    ("exit 3", 60_000, "makes no sense"),
    ("echo OK; exec 0<&-; sleep 1", 60_000, "can't ask"),
  ])
  func aProgramThatSaysNothingOrTooMuchIsLeft(script: String, patience: Int64, words: String) throws {
    let folder = Shell.folder()
    defer { remove(folder) }
    Shell.file(folder + "/pinentry", "#!/bin/sh\n\(script)\n", mode: 0o700)
    do {
      _ = try Pinentry(path: folder + "/pinentry", patience: patience).ask("x", complaint: nil)
      Issue.record("it was taken")
    } catch { #expect(VaultError(error).reason.contains(words), "\(VaultError(error).reason)") }
  }
}
