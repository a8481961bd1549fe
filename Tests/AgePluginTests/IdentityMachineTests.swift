import Sodium
import Testing

@testable import AgePlugin

/// The state machine identity-v1, played without a client and without a vault.
struct IdentityMachineTests {
  private static let first = [UInt8](repeating: 1, count: 16)
  private static let second = [UInt8](repeating: 2, count: 16)

  /// What came of a run.
  private struct Run {
    /// Everything that was said, as lines.
    var said: [String] = []
    /// Keys of files by the numbers of these.
    var keys: [Int: [UInt8]] = [:]
    /// Keys that were looked for, by the first byte of their id; minus where people may be asked.
    var sought: [Int] = []
  }

  /// What the vault knows about a key.
  private enum Known { case unlocked(Example), withPeople(Example), absent, gone }

  private func identity(_ id: [UInt8]) throws -> AgeStanza {
    AgeStanza("add-identity", [try QuorumIdentity(keyID: id).text])
  }

  private func play(
    _ input: [AgeStanza], _ known: [[UInt8]: Known] = [:], answers: AgeStanza = AgeStanza("ok", ["yes"])
  ) throws -> Run {
    var machine = IdentityMachine()
    var input = (input + [AgeStanza("done")])[...]
    var run = Run()
    for _ in 0..<10_000 {
      switch machine.step {
      case .read:
        let stanza = input.popFirst()
        try machine.take(try #require(stanza))
      case .say(let command):
        run.said.append(Self.words(of: command))
        if case .fileKey(let file, let key) = command {
          #expect(run.keys.updateValue(key.bytes.withUnsafeBytes { Array($0) }, forKey: file) == nil)
        }
        if case .confirm = command { try machine.take(answers) } else { try machine.take(AgeStanza("ok")) }
      case .find(let identity, let mayAsk):
        run.sought.append(Int(identity.keyID[0]) * (mayAsk ? -1 : 1))
        switch known[identity.keyID] ?? .absent {
        case .unlocked(let example): try machine.take(secret: example.secretBytes())
        case .withPeople(let example) where mayAsk: try machine.take(secret: example.secretBytes())
        case .withPeople: machine.take(.needsPeople(question: "ask for \(identity.keyID[0])?", yes: "y", no: "n"))
        case .absent: machine.take(.failed("no key \(identity.keyID[0])"))
        case .gone where mayAsk: machine.take(.failed("too few"))
        case .gone: machine.take(.needsPeople(question: "ask?", yes: "y", no: "n"))
        }
      case .end:
        #expect(input.isEmpty)
        return run
      }
    }
    Issue.record("it doesn't end")
    return run
  }

  private static func words(of command: PluginCommand) -> String {
    switch command {
    case .message(let text): "message \(text)"
    case .confirm(let text, _, _): "confirm \(text)"
    case .fileKey(let file, _): "key \(file)"
    case .faultOfIdentity(let index, let text): "identity \(index): \(text)"
    case .faultOfStanza(let file, let stanza, _): "stanza \(file) \(stanza)"
    case .fault(let text): "fault \(text)"
    case .done: "done"
    }
  }

  @Test func `a key at hand opens the file, and nobody is asked`() throws {
    let run = try play(
      [identity(Self.first), Example.document.stanza()], [Self.first: .unlocked(.document)])
    #expect(run.said == ["key 0"] && run.keys == [0: Example.document.fileKey] && run.sought == [1])
  }

  @Test func `a key that others hold is asked for only after a yes`() throws {
    let run = try play(
      [identity(Self.first), Example.document.stanza()], [Self.first: .withPeople(.document)])
    #expect(run.said == ["confirm ask for 1?", "key 0"] && run.sought == [1, -1])
    #expect(run.keys == [0: Example.document.fileKey])
  }

  @Test func `after a no nobody is asked, and nothing more is said`() throws {
    let run = try play(
      [identity(Self.first), Example.document.stanza()], [Self.first: .withPeople(.document)],
      answers: AgeStanza("ok", ["no"]))
    #expect(run.said == ["confirm ask for 1?"] && run.sought == [1])
  }

  @Test(arguments: ["fail", "unsupported", "grease"])
  func `where the question can't be put nobody is asked, and it is said what to do`(_ answer: String) throws {
    let run = try play(
      [identity(Self.first), Example.document.stanza()], [Self.first: .withPeople(.document)],
      answers: AgeStanza(answer))
    #expect(run.said.count == 2 && run.said.last?.hasPrefix("message nobody was asked") == true)
    #expect(run.sought == [1])
  }

  @Test func `an answer that is neither yes nor no is no yes`() throws {
    let run = try play(
      [identity(Self.first), Example.document.stanza()], [Self.first: .withPeople(.document)],
      answers: AgeStanza("ok", ["yes", "no"]))
    #expect(run.sought == [1] && run.keys.isEmpty)
  }

  @Test func `a file without an ordinary recipient wakes nobody, not even the vault`() throws {
    let others = ["scrypt", "ssh-ed25519", "x25519", "X25519x", "mlkem768x25519", "piv-p256"].map {
      AgeStanza("recipient-stanza", ["0", $0, "abcd"], body: Example.document.bodyBytes)
    }
    let run = try play([identity(Self.first)] + others, [Self.first: .withPeople(.document)])
    #expect(run.said.isEmpty && run.sought.isEmpty)
    #expect(try play([identity(Self.first)]).sought.isEmpty)
  }

  @Test func `another's file is asked about once, however many recipients it has, and stays closed`() throws {
    let stanzas = [AgeStanza](repeating: Example.specification.stanza(), count: 20)
    let run = try play([identity(Self.first)] + stanzas, [Self.first: .withPeople(.document)])
    #expect(run.said == ["confirm ask for 1?"] && run.sought == [1, -1] && run.keys.isEmpty)
  }

  @Test func `one of several recipients is enough`() throws {
    let run = try play(
      [Example.specification.stanza(), identity(Self.first), Example.document.stanza()],
      [Self.first: .unlocked(.document)])
    #expect(run.keys == [0: Example.document.fileKey])
  }

  @Test func `keys at hand come before those that others hold, in whatever order they are given`() throws {
    let run = try play(
      [identity(Self.first), identity(Self.second), Example.document.stanza()],
      [Self.first: .withPeople(.specification), Self.second: .unlocked(.document)])
    #expect(run.said == ["key 0"] && run.sought == [1, 2])
  }

  @Test func `of two keys that others hold the second isn't asked for once the first has opened all`() throws {
    let run = try play(
      [identity(Self.first), identity(Self.second), Example.document.stanza()],
      [Self.first: .withPeople(.document), Self.second: .withPeople(.specification)])
    #expect(run.said == ["confirm ask for 1?", "key 0"] && run.sought == [1, 2, -1])
  }

  @Test func `of several files each gets its key, and one recovery is enough for those of one key`() throws {
    let run = try play(
      [
        identity(Self.first), Example.document.stanza(), Example.specification.stanza(file: 3),
        Example.document.stanza(file: 3), Example.specification.stanza(file: 4), Example.document.stanza(file: 9),
      ], [Self.first: .withPeople(.document)])
    #expect(run.said == ["confirm ask for 1?", "key 0", "key 3", "key 9"] && run.sought == [1, -1])
  }

  @Test func `the same identity twice is asked about once`() throws {
    let run = try play(
      [identity(Self.first), identity(Self.first), Example.specification.stanza()],
      [Self.first: .withPeople(.document)])
    #expect(run.sought == [1, -1])
  }

  @Test
  func
    `why a key isn't there is said, unless another has opened the file, and the client goes on to its other identities`()
    throws
  {
    let run = try play([identity(Self.first), Example.document.stanza()])
    #expect(run.said == ["message no key 1"])
    let late = try play([identity(Self.first), Example.document.stanza()], [Self.first: .gone])
    #expect(late.said == ["confirm ask?", "message too few"])
    let opened = try play(
      [identity(Self.first), identity(Self.second), Example.document.stanza()],
      [Self.second: .unlocked(.document)])
    #expect(opened.said == ["key 0"])
  }

  @Test func `with an identity that is none nothing is tried with others`() throws {
    let run = try play(
      [identity(Self.first), AgeStanza("add-identity", ["AGE-PLUGIN-QUORUM-1"]), Example.document.stanza()],
      [Self.first: .unlocked(.document)])
    #expect(run.sought.isEmpty && run.said.count == 1 && run.said[0].hasPrefix("identity 1: "))
  }

  @Test func `a broken stanza is told by its place in its file, which stays closed; other files don't`() throws {
    let broken = AgeStanza("recipient-stanza", ["1", "X25519"] + Example.document.arguments, body: [1, 2, 3])
    let other = AgeStanza("recipient-stanza", ["1", "scrypt", "x"])
    let run = try play(
      [
        identity(Self.first), Example.document.stanza(), other, Example.document.stanza(file: 1), broken,
        Example.document.stanza(file: 2),
      ], [Self.first: .unlocked(.document)])
    #expect(run.said == ["stanza 1 2", "key 0", "key 2"])
  }

  @Test func `a share that leads to zero is told in the same way, wherever it stands, and before anybody is asked`()
    throws
  {
    let zero = AgeStanza(
      "recipient-stanza", ["0", "X25519", String(repeating: "A", count: 43)], body: Example.document.bodyBytes)
    let other = AgeStanza("recipient-stanza", ["0", "scrypt", "x"])
    let run = try play(
      [identity(Self.first), other, zero, Example.document.stanza()], [Self.first: .unlocked(.document)])
    #expect(run.said == ["stanza 0 1"] && run.keys.isEmpty && run.sought.isEmpty)
    let late = try play([identity(Self.first), Example.document.stanza(), zero], [Self.first: .withPeople(.document)])
    #expect(late.said == ["stanza 0 1"] && late.keys.isEmpty && late.sought.isEmpty)
  }

  @Test func `what the machine doesn't know is passed over`() throws {
    let grease = AgeStanza("grease-ADz/", ["some", "args"], body: [1, 2, 3])
    let run = try play(
      [grease, identity(Self.first), grease, Example.document.stanza(), grease], [Self.first: .unlocked(.document)])
    #expect(run.keys == [0: Example.document.fileKey])
  }

  @Test(arguments: [
    [AgeStanza("add-identity")], [AgeStanza("add-identity", ["a", "b"])], [AgeStanza("recipient-stanza")],
    [AgeStanza("recipient-stanza", ["0"])], [AgeStanza("recipient-stanza", ["-1", "x"])],
    [AgeStanza("recipient-stanza", ["01", "x"])], [AgeStanza("recipient-stanza", ["+1", "x"])],
    [AgeStanza("recipient-stanza", ["1", "x"]), AgeStanza("recipient-stanza", ["0", "x"])],
    [AgeStanza("recipient-stanza", ["99999999999999999999", "x"])], [AgeStanza("done", ["x"])],
  ])
  func `a client that doesn't keep to the specification is left`(_ input: [AgeStanza]) {
    #expect(throws: AgeError.self) { try play(input) }
  }

  @Test func `there is an end to identities, files and stanzas`() throws {
    let identities = try [AgeStanza](repeating: identity(Self.first), count: IdentityMachine.identityLimit)
    #expect(try play(identities).said.isEmpty)
    #expect(throws: AgeError.tooMuch("the number of identities")) { try play(identities + identities.prefix(1)) }
    let stanzas = [AgeStanza](repeating: Example.document.stanza(), count: IdentityMachine.stanzaLimit)
    #expect(try play(stanzas).said.isEmpty)
    #expect(throws: AgeError.tooMuch("the number of stanzas")) { try play(stanzas + stanzas.prefix(1)) }
    let files = (0...IdentityMachine.stanzaLimit).map { AgeStanza("recipient-stanza", ["\($0)", "x"]) }
    #expect(try play(files.dropLast()).said.isEmpty)
    #expect(throws: AgeError.tooMuch("the number of files")) { try play(files) }
  }
}
