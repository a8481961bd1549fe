import Gathering
import PeerAuth
import SecretVault

/// What is said of a gathering on the screen.
enum GatheringText {
  static let addressHint = "are both on the same network? If so, join with --at and the address on the opener's screen"

  /// For the opener's screen.
  static func opened(_ code: String, at addresses: [String]) -> [String] {
    let places = addresses.prefix(3).map { "  vault meet --at \($0)" }
    return ["read out this code; the others type it into 'vault meet':", "", "  \(code)", ""]
      + (places.isEmpty ? [] : ["who doesn't find this device:"] + places + [""])
      + ["press Enter when everybody is here"]
  }

  /// What everybody compares, with what this device knows of some. Names are in quotes, so that none can pass for a remark.
  static func lines(_ list: GatheringList, _ known: [Int: String]) -> [String] {
    var lines = ["", "compare with everybody, aloud, names and words:", "", "  \(list.cards.count) people"]
    let doubtful = Set(list.sameNames)
    for (position, card) in list.cards.enumerated() {
      var remarks: [String] = []
      if position == list.own { remarks.append("this device") }
      if let remark = known[position] { remarks.append(remark) }
      if doubtful.contains(position) { remarks.append("more than one has this name: who is it?") }
      lines.append(
        "    \(Printable.quoted(card.label))" + (remarks.isEmpty ? "" : "  \(remarks.joined(separator: ", "))"))
    }
    return lines + [
      "", "  \(list.check)", "",
      "does everybody see these \(list.cards.count) names and these words, and is each of them here? yes or no",
    ]
  }

  static func waiting(for positions: [Int], in list: GatheringList) -> String {
    let names = positions.filter(list.cards.indices.contains).map { Printable.quoted(list.cards[$0].label) }
    return names.isEmpty ? "everybody has said yes" : "waiting for \(names.joined(separator: ", "))"
  }

  static func words(for error: GatheringCodeError) -> String {
    switch error {
    case .notACode: "a code is a number and two words, such as 7-maple-harbor"
    case .unknownWord: "one of the words is none that codes are made of: type it again"
    case .severalWords: "several words begin so: type more of it"
    case .sodium: "no memory is left"
    }
  }

  /// A gathering that came to nothing.
  static func error(of failure: GatheringFailure) -> VaultError {
    let again = "open a new meeting, with a new code"
    switch failure {
    case .otherOpening: return VaultError(.refused, "another meeting is open there", hint: "compare the code's number")
    case .notLetIn: return VaultError(.refused, "not let in: the code is wrong, or the list was just closed")
    case .full: return VaultError(.refused, "\(GatheringOpener.guestLimit) others are in this meeting, more can't be")
    case .tooManyWrongCodes:
      return VaultError(
        .refused, "a wrong code was typed \(GatheringOpener.wrongCodeLimit) times: somebody may be guessing",
        hint: again)
    case .timeIsUp: return VaultError(.unreachable, "it has taken too long, and nobody was made a peer", hint: again)
    case .openerGone:
      return VaultError(.unreachable, "whoever opened the meeting has left, or can't be reached any more")
    case .left(let who):
      return VaultError(
        .unreachable, "\(name(who)) has left or can't be reached any more, so nobody was made a peer", hint: again)
    case .saidNo(let who): return VaultError(.refused, "\(name(who)) said no, so nobody was made a peer", hint: again)
    case .brokeRules(let who):
      return VaultError(
        .refused, "\(name(who)) shows what an honest device doesn't, so nobody was made a peer",
        hint: "open a new meeting without it")
    case .sameKey(let one, let other):
      return VaultError(
        .refused, "\(name(one)) and \(name(other)) show the same key: one of them has the other's card",
        hint: "compare fingerprints with both, as `vault id` shows them")
    case .noName:
      return VaultError(.usage, "this device's name can't be seen, so nobody could compare it")
    case .malformed, .damaged: return VaultError(.damaged, "what came is no message of a meeting", hint: again)
    case .sodium: return VaultError(.other, "no memory is left for secrets")
    }
  }

  static func name(_ participant: GatheringParticipant) -> String {
    participant.label.map { Printable.quoted($0) }
      ?? (participant.position == 0 ? "whoever opened it" : "number \(participant.position + 1)")
  }
}
