import ArgumentParser
import Glibc
import SealedPayload
import SecretVault
import Sodium

/// What is shown, copied or written of something that lies open in memory: for `recover` and `item show`.
struct ViewOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Print, copy or write this field alone.", valueName: "name"))
  var field: String?

  @Flag(help: "Print the names of the fields.")
  var fields = false

  @Flag(help: "Copy to the clipboard instead, and wipe it after the setting clipboard-seconds.")
  var clip = false

  @Flag(help: "Show hidden fields, too.")
  var show = false

  /// Whether any of them is there.
  var isUsed: Bool { field != nil || fields || clip || show }

  /// Refuses what excludes one another.
  func check(output: String?) throws {
    if fields, field != nil || clip || show || output != nil {
      throw ValidationError("--fields prints names only and excludes --field, --clip, --show and -o.")
    }
    if clip, show || output != nil { throw ValidationError("--clip excludes --show and -o.") }
    if show, output != nil { throw ValidationError("--show and -o exclude each other: -o writes everything.") }
  }

  /// What is being looked at, for JSON.
  struct Subject {
    /// `secret` or `item`.
    let key: String
    let json: JSONValue
    /// The name of the file that it becomes in a folder.
    let fileName: String
    /// A last key of what is printed.
    var last: (key: String, value: JSONValue)?
    /// The report on what was written: path, nil for a pipe or a device, and number of bytes.
    let written: (_ path: String?, _ byteCount: UInt64) -> JSONValue
  }

  /// Shows, copies or writes what was asked for.
  func present(
    _ view: borrowing ContentView, of subject: Subject, to destination: RecoveryDestination?, _ vault: Vault,
    _ console: Console
  ) async throws {
    if fields {
      let names = view.fields.map(\.name)
      return try console.result(
        names.map { Printable.escape($0) }, json: [subject.key: subject.json, "fields": JSONValue(names)])
    }
    if clip {
      let name = field ?? view.mainField
      let value = try view.value(of: name)
      let outcome = try await Clipboard.copy(value, called: name, vault, console)
      guard console.json else { return }
      return try console.result(
        [
          subject.key: subject.json, "copied": .string(name), "clipboard": .string(outcome.tool),
          "seconds": JSONValue(outcome.seconds),
        ] as JSONValue)
    }
    guard let destination else { return try print(view, of: subject, console) }
    let part = try field.map { name in Held<SecretBytes>(try view.value(of: name)) }
    let whole = try part?.take() ?? Self.file(of: view)
    try write(whole, of: subject, to: destination, vault, console)
  }

  /// What `-o` writes of all of it.
  private static func file(of view: borrowing ContentView) throws -> SecretBytes {
    guard view.traits.mainField != nil else { return try view.value(of: view.mainField) }
    var text = try SecretText()
    let object = try view.json(showsHidden: true)
    try text.append(object.bytes)
    try text.append("\n")
    return try text.finish()
  }

  private func write(
    _ bytes: borrowing SecretBytes, of subject: Subject, to destination: RecoveryDestination, _ vault: Vault,
    _ console: Console
  ) throws {
    let path: String?
    switch destination {
    case .descriptor(let descriptor):
      try Console.write(bytes.bytes, to: descriptor)
      path = nil
    case .file, .folder:
      path = try destination.place(of: subject.fileName).map {
        try vault.core.write(bytes, to: $0.path, overwrites: $0.overwrites)
      }
    }
    try Self.conclude(
      path, at: destination, json: subject.written(path, UInt64(bytes.count)), named: subject.fileName, console)
  }

  /// Prints the view, or one field, for people or as JSON.
  private func print(_ view: borrowing ContentView, of subject: Subject, _ console: Console) throws {
    let isTerminal = Console.outputIsTerminal
    var text = try SecretText()
    if console.json {
      try text.append("{\(JSONValue.string(subject.key).text):" + subject.json.text)
      if let field {
        let value = try view.value(of: field)
        try text.append(",\"field\":" + JSONValue.string(field).text + ",\"value\":")
        try text.append(json: value.bytes)
      } else {
        let object = try view.json(showsHidden: show)
        try text.append(",\"fields\":")
        try text.append(object.bytes)
      }
      if let last = subject.last { try text.append(",\(JSONValue.string(last.key).text):" + last.value.text) }
      try text.append("}\n")
    } else if let field {
      let value = try view.value(of: field)
      if isTerminal { try text.append(printable: value.bytes, keepsLines: true) } else { try text.append(value.bytes) }
      try text.append("\n")
    } else {
      let shown = try view.text(forTerminal: isTerminal, showsHidden: show)
      try text.append(shown.bytes)
    }
    let bytes = try text.finish()
    try Console.write(bytes.bytes, to: STDOUT_FILENO)
    Self.warnOfOutput(console)
  }

  // MARK: - Ways out in the clear

  /// Says that something went to a pipe or a file of the shell's, or to another pipe or device.
  static func warnOfOutput(_ console: Console, _ destination: RecoveryDestination? = nil) {
    if case .descriptor(let descriptor)? = destination, descriptor != STDOUT_FILENO {
      return console.caution("it went to a pipe or a device in the clear")
    }
    if !Console.outputIsTerminal { console.caution("it went to standard output in the clear") }
  }

  /// Says that something lies in the clear now, and prints where. `original` is the name inside, if the file has another.
  static func conclude(
    _ path: String?, at destination: RecoveryDestination?, json: JSONValue, named name: String,
    original: String? = nil, _ console: Console
  ) throws {
    guard let path else {
      warnOfOutput(console, destination)
      return try printPath(nil, json: json, console)
    }
    let isNamedByUser = if case .file? = destination { true } else { false }
    if !isNamedByUser, path.split(separator: "/").last.map({ $0 == name }) != true {
      console.note("there is a file \(name) already, so this one got another name")
    }
    if let original {
      console.warning(
        "its own name is '\(original)': not used, since it could hide the file, put it elsewhere or mislead; -o gives it any name"
      )
    }
    console.caution("it lies in the clear in \(path) now; remove it when it is not needed any more")
    try printPath(path, json: json, console)
  }

  /// Where something was written. Of a pipe or a device only JSON tells: with `--json` that is never standard output itself.
  static func printPath(_ path: String?, json: JSONValue, _ console: Console) throws {
    let lines = path.map { [Console.outputIsTerminal ? Printable.escape($0) : $0] } ?? []
    try console.result(lines, json: json)
  }
}
