import SecretVault

/// Who will get a share, in lines for people.
struct SharePlanText {
  let plan: SharePlan

  /// `3 shares, 2 of them are needed: you, Bob, Carol`; where somebody has several devices, `4 shares for 3 people, …: you,
  /// Bob, Carol and Carol-2`
  var heading: String {
    let people = (plan.keepsOwnShare ? [["you"]] : []) + people.map { $0.map(\.name) }
    let count =
      Measures.count(plan.shareCount, "share") + (people.count < plan.shareCount ? " for \(people.count) people" : "")
    let rule = plan.threshold == plan.shareCount ? "all of them are needed" : "\(plan.threshold) of them are needed"
    return "\(count), \(rule): \(people.map { MessageWords.list($0) }.joined(separator: ", "))"
  }

  /// What the user should not miss.
  var warnings: [String] {
    var warnings: [String] = []
    if plan.threshold == plan.shareCount {
      warnings.append("all \(plan.shareCount) shares are needed: if one is lost, so is the secret")
    }
    for devices in people where devices.count >= plan.threshold {
      warnings.append(
        "\(MessageWords.list(devices.map(\.name))) are devices of one person, who can recover it with nobody's help")
    }
    return warnings
  }

  /// The recipients, devices of one person together.
  private var people: [[PeerSummary]] {
    var people: [[PeerSummary]] = []
    for peer in plan.recipients {
      if let place = people.firstIndex(where: { $0[0].personKey == peer.personKey }) {
        people[place].append(peer)
      } else {
        people.append([peer])
      }
    }
    return people
  }

  /// A line for each recipient about whom there is something to say.
  var remarks: [String] {
    plan.recipients.compactMap { peer in
      let words = remarks(on: peer)
      return words.isEmpty ? nil : "\(peer.name): \(words.joined(separator: "; "))"
    }
  }

  private func remarks(on peer: PeerSummary) -> [String] {
    var words: [String] = []
    if isLikeAnother(peer) { words.append("fingerprint \(PeerText.short(peer.fingerprint))") }
    if let other = peer.deviceOf { words.append("another device of \(other)'s user") }
    if peer.state == .scanned { words.append("never met, so its share waits here, sealed to its card") }
    if peer.addresses.isEmpty, !peer.isFoundLocally { words.append("listens nowhere that this device knows") }
    return words
  }

  /// Whether another recipient's card carries the same name.
  private func isLikeAnother(_ peer: PeerSummary) -> Bool {
    plan.recipients.contains { $0.cardDigest != peer.cardDigest && $0.label.lowercased() == peer.label.lowercased() }
  }

  // MARK: - The question

  /// Asks the user; nil if recipients were chosen, if the user has said yes, or if there is no terminal.
  static func question(chosen: [String], saysYes: Bool) -> (@Sendable (SharePlan) async throws -> Void)? {
    guard chosen.isEmpty, !saysYes, Question.isPossibleBesideInput else { return nil }
    return { (plan) async throws in
      let text = SharePlanText(plan: plan)
      try await OwnThread.run {
        try Question.confirm(
          "Share it with \(plan.recipients.count == 1 ? "this peer" : "these \(plan.recipients.count) peers")?",
          below: [text.heading] + text.remarks.map { "  " + $0 } + text.warnings.map { "warning: " + $0 },
          option: "--yes, or --to PEER",
          otherwise: "nothing was shared", besideInput: true)
      }
    }
  }
}
