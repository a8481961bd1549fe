import PeerAuth
import SecretVault
import Testing

@testable import Gathering
@testable import VaultCLI

@Suite("What a meeting shows") struct GatheringTextTests {
  private func list(_ labels: [String]) throws -> GatheringList {
    let people = try labels.map { label in
      let identity = try Identity.generate()
      return (identity, try identity.card(label: label, serial: 1, beaconKey: [UInt8](repeating: 1, count: 16)))
    }
    let opener = try GatheringOpener(card: people[0].1, identity: people[0].0, at: .zero)
    var guests: [(GatheringOpener.ID, GatheringGuest)] = []
    var shown: GatheringList?
    // What is said arrives in the order in which it was said.
    var due: [(to: GatheringOpener.ID?, from: GatheringOpener.ID?, bytes: [UInt8])] = []
    func take(_ actions: [GatheringOpener.Action]) {
      for action in actions {
        switch action {
        case .send(let bytes, let id): due.append((id, nil, bytes))
        case .compare(let list): shown = list
        default: break
        }
      }
    }
    func settle() {
      while !due.isEmpty {
        let next = due.removeFirst()
        if let id = next.to {
          for case .send(let bytes) in guests.first(where: { $0.0 == id })?.1.receive(next.bytes, at: .zero) ?? [] {
            due.append((nil, id, bytes))
          }
        } else if let id = next.from {
          take(opener.receive(next.bytes, from: id, at: .zero))
        }
      }
    }
    for person in people.dropFirst() {
      let (id, actions) = opener.connected(at: .zero)
      let guest = try GatheringGuest(
        code: GatheringCode(reading: opener.code.text), card: person.1, identity: person.0, at: .zero)
      if let id { guests.append((id, guest)) }
      take(actions)
      settle()
    }
    take(opener.close(at: .zero))
    settle()
    return try #require(shown)
  }

  @Test("a name can't pass for what this program says, nor push it out of sight") func names() throws {
    let list = try list(["Alice", "Bob  your peer \"Bob\"", "Carol" + String(repeating: " ", count: 50) + "x"])
    let lines = GatheringText.lines(list, [1: "your peer \"Bob\""])
    #expect(lines.contains("    \"Alice\"  this device"))
    let forged = try #require(lines.first { $0.hasPrefix("    \"Bob your peer ") })
    // What somebody calls himself ends at the last quotation mark before the program's own remark.
    #expect(forged.hasSuffix("\"  your peer \"Bob\""))
    #expect(forged == "    \"Bob your peer 'Bob'\"  your peer \"Bob\"")
    #expect(lines.contains("    \"Carol x\""))
    #expect(lines.contains("  3 people") && lines.contains("  \(list.check)"))
  }

  @Test("every end has its words: what happened, and who") func failures() {
    let who = GatheringParticipant(position: 1, label: "Bob")
    for (failure, words) in [
      (GatheringFailure.saidNo(who), "\"Bob\" said no"), (.left(who), "\"Bob\" has left"),
      (.brokeRules(who), "\"Bob\" shows what an honest device doesn't"),
    ] {
      #expect(GatheringText.error(of: failure).reason.hasPrefix(words))
    }
    #expect(GatheringText.error(of: .tooManyWrongCodes).code == .refused)
    #expect(GatheringText.error(of: .openerGone).code == .unreachable)
  }
}
