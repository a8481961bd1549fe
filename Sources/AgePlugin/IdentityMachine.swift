package import Sodium

/// The plugin's side of the state machine identity-v1 (C2SP age-plugin.md): what the client says goes in, what is to be done
/// next comes out. No descriptors, no vault.
///
/// X25519 stanzas don't say for whom they are. So keys that are at hand are tried first; for others people would have to be
/// asked, and that only happens once the client's user has agreed. Where a file has no such stanza, nothing is tried at all.
package struct IdentityMachine: Sendable {
  package enum Step: Sendable {
    /// Hand in the client's next stanza.
    case read
    /// Send this, and hand in the client's answer.
    case say(PluginCommand)
    /// Hand in the secret half of this key, or why it isn't there. Unless `mayAsk`, nobody may be asked for it.
    case find(QuorumIdentity, mayAsk: Bool)
    /// Send `done`.
    case end
  }

  /// Why there is no key.
  package enum Absence: Sendable {
    /// People would have to be asked; what the client's user is asked before.
    case needsPeople(question: String, yes: String, no: String)
    case failed(String)
  }

  /// Most identities, and X25519 stanzas of all files together.
  package static let identityLimit = 32
  package static let stanzaLimit = 4096

  private struct File {
    let number: Int
    var stanzaCount = 0
    var stanzas: [X25519Stanza] = []
    var isOver = false
  }

  private enum Work {
    case find(Int)
    case confirm(Int)
    case ask(Int)
  }

  package private(set) var step = Step.read

  private var isGathering = true
  /// Nil where a text is none.
  private var identities: [QuorumIdentity?] = []
  private var files: [File] = []
  private var stanzaCount = 0
  private var queue: [PluginCommand] = []
  private var plan: [Work] = []
  /// By the index of the identity.
  private var questions: [Int: PluginCommand] = [:]
  /// What is told of identities if some file stays closed: as messages, for after an error a client tries no other identity.
  private var failures: [PluginCommand] = []

  package init() {}

  package mutating func take(_ stanza: AgeStanza) throws(AgeError) {
    if isGathering { return try gather(stanza) }
    guard !queue.isEmpty else { throw .malformed("a stanza out of turn") }
    if case .confirm = queue.removeFirst() { takeAnswer(stanza) }
    advance()
  }

  /// The secret that was to be found.
  package mutating func take(secret: borrowing SecretBytes) throws(SodiumError) {
    guard case .find = step else { return }
    plan.removeFirst()
    let recipient = try X25519.publicKey(of: secret)
    for index in files.indices where !files[index].isOver { try open(index, secret, recipient) }
    advance()
  }

  package mutating func take(_ absence: Absence) {
    guard case .find = step, let work = plan.first else { return }
    plan.removeFirst()
    switch (work, absence) {
    case (.find(let index), .needsPeople(let question, let yes, let no)):
      questions[index] = .confirm(question, yes: yes, no: no)
      plan.append(.confirm(index))
    case (_, .failed(let reason)):
      failures.append(.message(reason))
    case (.ask, .needsPeople), (.confirm, .needsPeople): break
    }
    advance()
  }

  // MARK: - What the client has

  private mutating func gather(_ stanza: AgeStanza) throws(AgeError) {
    switch (stanza.tag, stanza.arguments.count) {
    case ("add-identity", 1):
      guard identities.count < Self.identityLimit else { throw .tooMuch("the number of identities") }
      identities.append(try? QuorumIdentity(stanza.arguments[0]))
    case ("recipient-stanza", 2...): try gather(stanza.arguments, stanza.body)
    case ("done", 0):
      isGathering = false
      begin()
    case ("add-identity", _), ("recipient-stanza", _), ("done", _): throw .malformed("the stanza \(stanza.tag)")
    // What later versions may say, and what clients say so that plugins bear it.
    default: break
    }
  }

  private mutating func gather(_ arguments: [String], _ body: [UInt8]) throws(AgeError) {
    guard let number = Int(arguments[0]), String(number) == arguments[0], number >= files.last?.number ?? 0 else {
      throw .malformed("the number of a file")
    }
    if files.last?.number != number {
      guard files.count < Self.stanzaLimit else { throw .tooMuch("the number of files") }
      files.append(File(number: number))
    }
    let last = files.count - 1
    let place = files[last].stanzaCount
    files[last].stanzaCount += 1
    guard arguments[1] == X25519Stanza.tag else { return }
    stanzaCount += 1
    guard stanzaCount <= Self.stanzaLimit else { throw .tooMuch("the number of stanzas") }
    do { files[last].stanzas.append(try X25519Stanza(arguments.dropFirst(2), body: body)) } catch {
      queue.append(.faultOfStanza(file: number, stanza: place, error.words))
      files[last].isOver = true
    }
  }

  // MARK: - What is done with it

  private mutating func begin() {
    let faults = identities.indices.filter { identities[$0] == nil }
    guard faults.isEmpty else {
      queue = faults.map { .faultOfIdentity($0, AgeError.malformed("an identity of this plugin").words) }
      files = []
      return advance()
    }
    for index in files.indices where files[index].stanzas.isEmpty { files[index].isOver = true }
    var seen: Set<QuorumIdentity> = []
    for (index, identity) in identities.enumerated() {
      if let identity, seen.insert(identity).inserted { plan.append(.find(index)) }
    }
    advance()
  }

  private mutating func advance() {
    if let command = queue.first {
      step = .say(command)
      return
    }
    if files.allSatisfy(\.isOver) {
      plan = []
      failures = []
    }
    switch plan.first {
    case .find(let index): seek(index, mayAsk: false)
    case .ask(let index): seek(index, mayAsk: true)
    case .confirm(let index):
      queue = questions[index].map { [$0] } ?? []
      step = queue.first.map { .say($0) } ?? .end
    case nil:
      queue = failures
      failures = []
      step = queue.first.map { .say($0) } ?? .end
    }
  }

  private mutating func seek(_ index: Int, mayAsk: Bool) {
    step = identities[index].map { .find($0, mayAsk: mayAsk) } ?? .end
  }

  private mutating func takeAnswer(_ stanza: AgeStanza) {
    guard case .confirm(let index) = plan.first else { return }
    plan.removeFirst()
    switch (stanza.tag, stanza.arguments) {
    case ("ok", ["yes"]): plan.insert(.ask(index), at: 0)
    case ("ok", _): break
    default:
      failures.append(
        .message(
          "nobody was asked for shares: nobody has said yes. Say yes, or unlock the key before, with `vault unlock`"))
    }
  }

  private mutating func open(
    _ index: Int, _ secret: borrowing SecretBytes, _ recipient: [UInt8]
  ) throws(SodiumError) {
    let number = files[index].number
    for stanza in files[index].stanzas {
      guard let key = try stanza.fileKey(secret, recipient: recipient) else { continue }
      queue.append(.fileKey(file: number, FileKey(key)))
      files[index].isOver = true
      return
    }
  }
}
