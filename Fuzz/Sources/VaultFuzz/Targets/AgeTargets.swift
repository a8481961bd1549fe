@testable import AgePlugin
import Sodium

/// What a client of age says to its plugin.
enum AgeTargets {
  static let all = [
    FuzzTarget("age-identity", upTo: 200) { bytes in
      let identity = try QuorumIdentity(String(decoding: bytes, as: UTF8.self))
      require((try? QuorumIdentity(identity.text)) == identity, "an identity reads itself")
      return true
    },
    FuzzTarget("age-client", upTo: 20_000) { try converse($0) },
  ]

  /// Of the example in docs/formats/age.md.
  private static let secret: [UInt8] = [
    0x4b, 0xc6, 0xe1, 0x25, 0x56, 0x5b, 0x79, 0xcc, 0xd1, 0x66, 0xe9, 0x82, 0xb6, 0xa1, 0x15, 0x6f, 0x7b, 0x04, 0x31,
    0x35, 0xbc, 0xfc, 0xfe, 0xd2, 0x0e, 0x1f, 0x17, 0xc7, 0x32, 0xfd, 0xec, 0x39,
  ]

  /// The input is all that the client says; where it has no answer more, it says no more than `ok`. Keys whose ids begin with 0x11
  /// are at hand, those with 0x22 take people, others aren't there.
  private static func converse(_ bytes: [UInt8]) throws -> Bool {
    var reader = StanzaReader()
    var machine = IdentityMachine()
    var rest = bytes[...]
    func next() throws -> AgeStanza? {
      while true {
        if let stanza = try reader.next() { return stanza }
        guard !rest.isEmpty else { return nil }
        reader.append(rest.prefix(61))
        rest = rest.dropFirst(61)
      }
    }
    var files: Set<Int> = []
    var hasYes = false
    while true {
      switch machine.step {
      case .read:
        guard let stanza = try next() else { return false }
        try machine.take(stanza)
      case .say(let command):
        let answer = try next() ?? AgeStanza("ok")
        _ = prepared { try command.text().count }
        if case .fileKey(let file, _) = command {
          require(files.insert(file).inserted, "a file has one key")
        }
        if case .confirm = command { hasYes = answer.tag == "ok" && answer.arguments == ["yes"] }
        try machine.take(answer)
      case .find(let identity, let mayAsk):
        require(!mayAsk || hasYes, "nobody is asked without a yes")
        if mayAsk { hasYes = false }
        switch (identity.keyID.first, mayAsk) {
        case (0x11, _), (0x22, true):
          let bytes = secret
          try machine.take(secret: prepared { try SecretBytes(copying: bytes.span.bytes) })
        case (0x22, false): machine.take(.needsPeople(question: "Ask?", yes: "yes", no: "no"))
        default: machine.take(.failed("there is no such key"))
        }
      case .end: return true
      }
    }
  }
}
