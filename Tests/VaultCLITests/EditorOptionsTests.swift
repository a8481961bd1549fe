import Glibc
import Testing

@testable import VaultCLI

@Suite("What an editor is told")
struct EditorOptionsTests {
  /// A folder with a program that is called like an editor.
  private func withProgram(_ name: String, _ body: (String) throws -> Void) throws {
    let folder = Shell.folder()
    let path = folder + "/" + name
    let file = open(path, O_CREAT | O_WRONLY, 0o700)
    close(file)
    defer {
      unlink(path)
      rmdir(folder)
    }
    try body(path)
  }

  @Test(
    "vim and nvim are told to keep nothing, once before and once after the user's own settings",
    arguments: ["vim", "vim.basic", "nvim"])
  func vim(name: String) throws {
    try withProgram(name) { path in
      let options = Editor.options(for: path)
      #expect(options.starts(with: ["-n", "-i", "NONE", "--cmd"]))
      let last = try #require(options.firstIndex(of: "-c").map { options[$0 + 1] })
      for word in ["noswapfile", "nobackup", "nowritebackup", "noundofile"] {
        #expect(options[4].contains(word) && last.contains(word))
      }
    }
  }

  @Test("an editor with options of its own is known all the same")
  func words() throws {
    try withProgram("vim") { path in
      let options = Editor.options(for: path)
      #expect(!options.isEmpty)
      for command in [path + " -T xterm", "  " + path + "\t-u /etc/vimrc", path + " +10"] {
        #expect(Editor.options(for: command) == options, "\(command)")
      }
    }
  }

  @Test("what only a shell understands is told nothing, nor is an editor that isn't known")
  func others() throws {
    try withProgram("vim") { path in
      for command in [
        "TERM=xterm " + path, path + "; true", "exec $(which vim)", "'" + path + "'", path + " && ls", "~/vim",
        "\\" + path,
        path + " #", "(" + path + ")", "! " + path, path + " | cat",
      ] { #expect(Editor.options(for: command).isEmpty, "\(command)") }
    }
    try withProgram("nano") { path in #expect(Editor.options(for: path + " -w").isEmpty) }
    #expect(Editor.options(for: "").isEmpty && Editor.options(for: "  ").isEmpty)
  }
}
