import SecretVault
import Sodium

/// Where notes and contacts come from, for all commands that make one.
enum ContentInput {
  /// A note from a file or standard input, or from the editor if none is named.
  static func note(_ file: String?, title: String?, _ vault: Vault, _ console: Console) async throws -> NewContent {
    if let file {
      if file == "-", Console.inputIsTerminal { console.note("reading the note from the terminal; Ctrl-D ends it") }
      return try .note(try SecretStream.read(path: file, limit: NewContent.noteByteLimit), title: title)
    }
    let held = try await OwnThread.run {
      let empty = try SecretText.memory(0)
      return Held<SecretBytes>(try Editor().edit(empty, limit: NewContent.noteByteLimit, vault, console))
    }
    guard let text = held.take(), !isBlank(text) else {
      throw VaultError(.interrupted, "the text is empty; nothing was done")
    }
    return try .note(text, title: title)
  }

  private static func isBlank(_ text: borrowing SecretBytes) -> Bool { NewContent.isBlank(text.bytes) }

  /// A contact from a vCard in a file or standard input, or asked for if none is named.
  static func contact(_ file: String?, _ console: Console) throws -> NewContent {
    if let file {
      if file == "-", Console.inputIsTerminal { console.note("reading a vCard from the terminal; Ctrl-D ends it") }
      let card = try SecretStream.read(path: file, limit: VCard.byteLimit)
      return try .contact(card, named: file == "-" ? "standard input" : file)
    }
    guard Question.isPossible, let terminal = Terminal() else {
      throw VaultError(
        .usage, "a contact needs a vCard, and there is no terminal to ask on",
        hint: "name a file, or - for standard input")
    }
    return try .contact(ContactQuestions.card(terminal), named: "the contact")
  }
}
