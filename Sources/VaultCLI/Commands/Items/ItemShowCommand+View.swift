import Glibc
import SealedPayload
import SecretVault
import Sodium

// Notes, password entries and contacts, which are shown rather than written.
extension ItemShowCommand {
  /// Opens the item into memory and shows, copies or writes what was asked for.
  func showFromMemory(
    _ item: ItemSummary, to destination: RecoveryDestination?, _ vault: Vault, _ console: Console
  ) async throws {
    let content = try await vault.itemContent(
      item.id, access: ItemReporter(console, verb: "decrypting").access(passwords: password.source(console)))
    let kind = content.kind
    let fileName = SuggestedName.sanitised(content.header.fileName)
    let view = try ContentView(content)
    if fields {
      let names = view.fields.map(\.name)
      return try console.result(
        names.map { Printable.escape($0) }, json: ["item": item.json, "fields": JSONValue(names)])
    }
    if clip {
      let name = field ?? view.mainField
      let value = try view.value(of: name)
      let outcome = try await Clipboard.copy(value, called: name, vault, console)
      guard console.json else { return }
      return try console.result([
        "item": item.json, "copied": .string(name), "clipboard": .string(outcome.tool),
        "seconds": JSONValue(outcome.seconds),
      ])
    }
    if let destination {
      let part = try field.map { (name) throws(VaultError) in HeldSecret(try view.value(of: name)) }
      let whole = try part?.take() ?? Self.file(of: view)
      return try write(whole, named: fileName, to: destination, item, vault, console)
    }
    guard kind != .file || field != nil || console.json else {
      console.note("it is a file; its contents come out with -o")
      let shown = try vault.item(item.id)
      return try console.result(Self.facts(shown, now: Clocks.now()), json: shown.json)
    }
    try print(view, item, console)
  }

  /// What `-o` writes of a whole item.
  private static func file(of view: borrowing ContentView) throws(VaultError) -> SecretBytes {
    guard view.kind == .password else { return try view.value(of: view.mainField) }
    var text = try SecretText()
    let object = try view.json(showsHidden: true)
    try text.append(object.bytes)
    try text.append("\n")
    return try text.finish()
  }

  private func write(
    _ bytes: borrowing SecretBytes, named name: String, to destination: RecoveryDestination, _ item: ItemSummary,
    _ vault: Vault, _ console: Console
  ) throws {
    let path: String
    switch destination {
    case .descriptor(let descriptor):
      try SecretStream.write(bytes.bytes, to: descriptor)
      return RecoverCommand.warnOfOutput(console)
    case .file(let given, let overwrites): path = try vault.write(bytes, to: given, overwrites: overwrites)
    case .folder(let folder, let overwrites):
      let whole = folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
      path = try vault.write(bytes, to: whole, overwrites: overwrites)
    }
    console.caution("it lies in the clear in \(path) now; remove it when it is not needed any more")
    let report = ItemReport(
      item: item, key: item.key, path: path, suggestedName: name, byteCount: UInt64(bytes.count))
    try console.result([Console.outputIsTerminal ? Printable.escape(path) : path], json: report.json)
  }

  /// Prints the view, or one field, for people or as JSON.
  private func print(_ view: borrowing ContentView, _ item: ItemSummary, _ console: Console) throws(VaultError) {
    let isTerminal = Console.outputIsTerminal
    var text = try SecretText()
    if console.json {
      try text.append("{\"item\":" + item.json.text)
      if let field {
        let value = try view.value(of: field)
        try text.append(",\"field\":" + JSONValue.string(field).text + ",\"value\":")
        try text.append(json: value.bytes)
      } else {
        let object = try view.json(showsHidden: show)
        try text.append(",\"fields\":")
        try text.append(object.bytes)
      }
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
    try SecretStream.write(bytes.bytes, to: STDOUT_FILENO)
    RecoverCommand.warnOfOutput(console)
  }
}
