import Testing

@testable import SecretVault

@Suite struct FileNameTests {
  @Test(arguments: [
    ("name", "name"), ("/home/ann/name", "name"), ("folder/", "folder"), ("/", "/"),
    // A combining mark joins the slash to one character, but the file system knows no characters.
    ("/home/ann/\u{301}name", "\u{301}name"),
  ])
  func `the name that goes into a payload is without folders`(path: String, name: String) {
    #expect(VaultCore.fileName(of: path).utf8.elementsEqual(name.utf8))
  }
}
