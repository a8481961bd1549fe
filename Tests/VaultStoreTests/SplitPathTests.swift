import Testing

@testable import VaultStore

@Suite struct SplitPathTests {
  @Test(arguments: [
    ("name", ".", "name"), ("/name", "/", "name"), ("a/b/name", "a/b", "name"), ("//name", "/", "name"),
    // A combining mark joins the slash to one character, but the file system knows no characters.
    ("folder/\u{301}name", "folder", "\u{301}name"), ("/\u{301}", "/", "\u{301}"),
  ])
  func `a path is cut at its last slash`(path: String, folder: String, name: String) throws {
    let split = try SplitPath(path)
    #expect(split.folder.utf8.elementsEqual(folder.utf8))
    #expect(split.name.utf8.elementsEqual(name.utf8))
  }

  @Test(arguments: ["", "folder/", ".", "..", "folder/..", "na\0me"])
  func `what can't name a file is refused`(path: String) {
    #expect(throws: StoreError.self) { try SplitPath(path) }
  }

  @Test(arguments: [("it", "'it'"), ("it's", "'it'\\''s'"), ("it'\u{301}s", "'it'\\''\u{301}s'"), ("", "''")])
  func `a path in a suggested command is quoted for the shell`(path: String, quoted: String) {
    #expect(quotedForShell(path).utf8.elementsEqual(quoted.utf8))
  }
}
