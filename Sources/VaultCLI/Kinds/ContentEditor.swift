import SealedPayload
import SecretVault
import Sodium

/// Lets the user change what was recovered, in the editor and in memory only, for what takes its place.
struct ContentEditor {
  let editor: Editor
  let vault: Vault
  let console: Console
  /// Whether a text that stays as it was is taken all the same.
  let mayStay: Bool
  /// What is said of an edit that comes to nothing.
  let nothing: String
  /// What to do with what is no text.
  let otherwise: String

  /// The content after editing. A file, a note and a contact are edited as their text, a password entry as ``EntryText``. What
  /// can't be read afterwards may be edited again.
  func edit(_ content: consuming RecoveredContent) throws -> SecretContent {
    let old = try text(of: content)
    var text = try editor.edit(old, limit: NewContent.noteByteLimit, vault, console)
    if !mayStay, constantTimeEqual(text.bytes, old.bytes) {
      throw VaultError(.interrupted, "the text is as it was; \(nothing)")
    }
    while true {
      do {
        let edited = try Self.edited(text, replacing: content.header, nothing: nothing)
        return edited.shared()
      } catch {
        switch error {
        case .failed(let failure): throw failure
        case .unreadable(let reason): console.note(reason)
        }
        guard try Question.choose("What now?", among: ["edit it again", "give up"]) == 0 else {
          throw VaultError(.interrupted, nothing)
        }
        text = try editor.edit(text, limit: NewContent.noteByteLimit, vault, console)
      }
    }
  }

  /// The same on a thread of its own.
  func editApart(_ content: consuming RecoveredContent) async throws -> SecretContent {
    let held = Held(content)
    return try await OwnThread.run {
      guard let content = held.take() else { throw VaultError(.other, "this was edited already") }
      return try edit(content)
    }
  }

  /// Why an edited text was not taken.
  enum Rejection: Error {
    /// The user can mend it.
    case unreadable(String)
    case failed(VaultError)
  }

  func text(of content: borrowing RecoveredContent) throws -> SecretBytes {
    switch content.kind.traits.editing {
    case .entry: return try EntryText.text(content.header)
    case .text, .card:
      guard NewContent.isText(content.body.bytes) else {
        throw VaultError(
          .refused, "what was recovered is no text in UTF-8; an editor would spoil it",
          hint: otherwise)
      }
      do { return try content.body.duplicate() } catch { throw SecretText.noMemory }
    case .never(let reason): throw VaultError(.refused, reason)
    }
  }

  /// What standard input brings instead of an editor.
  static func piped(replacing old: borrowing PayloadHeader, nothing: String) throws -> SecretContent {
    let text = try SecretStream.read(path: "-", limit: NewContent.noteByteLimit)
    do {
      let edited = try edited(text, replacing: old, nothing: nothing)
      return edited.shared()
    } catch {
      switch error {
      case .failed(let failure): throw failure
      case .unreadable(let reason): throw VaultError(.usage, "\(reason); \(nothing)")
      }
    }
  }

  /// What the edited text stands for. Names and fields that were not edited stay.
  static func edited(
    _ text: borrowing SecretBytes, replacing old: borrowing PayloadHeader, nothing: String
  ) throws(Rejection) -> NewContent {
    do {
      switch old.kind.traits.editing {
      case .entry: return try entry(text, replacing: old)
      case .card:
        do throws(VCard.Fault) { _ = try VCard(text.bytes) } catch {
          throw Rejection.unreadable(error.error(in: "the edited text", .usage).reason)
        }
      case .text, .never:
        guard !NewContent.isBlank(text.bytes) else {
          throw Rejection.failed(VaultError(.interrupted, "the text is empty; \(nothing)"))
        }
        guard NewContent.isText(text.bytes) else {
          throw Rejection.unreadable("the edited text is not UTF-8")
        }
      }
      let body = try text.duplicate()
      return NewContent(header: try old.duplicate(), body: body)
    } catch let rejection as Rejection {
      throw rejection
    } catch {
      throw .failed(SecretText.noMemory)
    }
  }

  private static func entry(
    _ text: borrowing SecretBytes, replacing old: borrowing PayloadHeader
  ) throws(Rejection) -> NewContent {
    let fields: EntryFields
    do throws(EntryText.Fault) { fields = try EntryText.fields(text.bytes) } catch {
      throw error == .memory ? .failed(SecretText.noMemory) : .unreadable(error.reason)
    }
    do {
      var entry = try NewContent.password(fields)
      for name in old.fieldNames where EntryField(rawValue: name) == nil {
        guard let value = old.field(name) else { continue }
        try entry.add(field: name, value)
      }
      return entry
    } catch {
      throw .failed(VaultError(error))
    }
  }
}
