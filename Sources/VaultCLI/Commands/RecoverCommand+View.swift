import Glibc
import SealedPayload
import SecretVault
import Sodium

// What becomes of a secret that is not simply written to a file.
extension RecoverCommand {
  /// Recovers into memory and shows, copies or writes what was asked for.
  func recoverInMemory(
    _ reference: String, to destination: RecoveryDestination?, _ vault: Vault, _ console: Console
  ) async throws {
    let reporter = RecoveryReporter(console)
    var attempts = 0
    let content = try await consent.run(vault, console) { () async throws(VaultError) in
      attempts += 1
      let isFirst = attempts == 1
      return try await vault.recoverContent(
        reference, limit: RecoveredContent.usualLimit, passwords: password.source(console)
      ) { event in
        if isFirst { reporter.show(event) } else { reporter.showAgain(event) }
      }
    }
    guard let report = content.report else { throw VaultError(.other, "nothing was recovered") }
    reporter.conclude(report)
    let suggestedName = report.suggestedName
    let view = try ContentView(content)
    if fields {
      let names = view.fields.map(\.name)
      return try console.result(
        names.map { Printable.escape($0) }, json: ["secret": report.secret.json, "fields": JSONValue(names)])
    }
    if clip {
      let name = field ?? view.mainField
      let value = try view.value(of: name)
      let outcome = try await Clipboard.copy(value, called: name, vault, console)
      guard console.json else { return }
      return try console.result([
        "secret": report.secret.json, "copied": .string(name), "clipboard": .string(outcome.tool),
        "seconds": JSONValue(outcome.seconds),
      ])
    }
    if let destination {
      let form = try field.map { (name) throws(VaultError) in HeldSecret(try view.value(of: name)) }
      let whole = try form?.take() ?? Self.file(of: view)
      return try write(whole, named: suggestedName, to: destination, report, vault, console)
    }
    try print(view, report, console)
  }

  /// What `-o` writes of a whole secret.
  private static func file(of view: borrowing ContentView) throws(VaultError) -> SecretBytes {
    guard view.kind == .password else { return try view.value(of: view.mainField) }
    var text = try SecretText()
    let object = try view.json(showsHidden: true)
    try text.append(object.bytes)
    try text.append("\n")
    return try text.finish()
  }

  private func write(
    _ bytes: borrowing SecretBytes, named name: String, to destination: RecoveryDestination, _ report: RecoveryReport,
    _ vault: Vault, _ console: Console
  ) throws {
    let path: String
    switch destination {
    case .descriptor(let descriptor):
      try SecretStream.write(bytes.bytes, to: descriptor)
      return Self.warnOfOutput(console)
    case .file(let given, let overwrites): path = try vault.write(bytes, to: given, overwrites: overwrites)
    case .folder(let folder, let overwrites):
      let whole = folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
      path = try vault.write(bytes, to: whole, overwrites: overwrites)
    }
    console.caution("it lies in the clear in \(path) now; remove it when it is not needed any more")
    let written = RecoveryReport(
      secret: report.secret, path: path, suggestedName: name, byteCount: UInt64(bytes.count), holders: report.holders)
    try console.result([Console.outputIsTerminal ? Printable.escape(path) : path], json: written.json)
  }

  /// Prints the view, or one field, for people or as JSON.
  private func print(_ view: borrowing ContentView, _ report: RecoveryReport, _ console: Console) throws(VaultError) {
    let isTerminal = Console.outputIsTerminal
    var text = try SecretText()
    if console.json {
      try text.append("{\"secret\":" + report.secret.json.text)
      if let field {
        let value = try view.value(of: field)
        try text.append(",\"field\":" + JSONValue.string(field).text + ",\"value\":")
        try text.append(json: value.bytes)
      } else {
        let object = try view.json(showsHidden: show)
        try text.append(",\"fields\":")
        try text.append(object.bytes)
      }
      try text.append(",\"holders\":" + JSONValue.array(report.holders.map(\.json)).text + "}\n")
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
    Self.warnOfOutput(console)
  }
}
