import PeerAuth
import Sodium
import VaultStore

extension Directory {
  /// Whether this device knows no place to call on a peer, nor how to find it in the same room or on the same network.
  func listensNowhere(_ peer: PeerRecord) throws -> Bool { try !recipient(peer).canBeCalled }

  // MARK: - Records

  /// The peer that the user means: by name, by the beginning of fingerprint or card digest or, unless that `mustBeWhole`,
  /// of the name; whatever the case.
  func find(_ reference: String, mustBeWhole: Bool = false) throws -> PeerRecord {
    // A whole card digest is nobody's name, though somebody may call himself so.
    if let bytes = bytes(hexadecimal: reference), let digest = try? Digest(bytes),
      let peer = try database.peer(digest)
    {
      return peer
    }
    if let exact = try database.peer(named: reference) { return exact }
    let digits = Self.digits(of: reference) ?? ""
    let all = try database.peers()
    // Both at once, so that no name hides somebody who is named by the fingerprint.
    let matches = all.filter { peer in
      if !mustBeWhole, NearNames.begins(peer.name, with: reference) { return true }
      guard !digits.isEmpty else { return false }
      return peer.digest.description.hasPrefix(digits)
        || (try? Fingerprint(of: peer.digest))?.digits.hasPrefix(digits) == true
    }
    if matches.count == 1 { return matches[0] }
    let names = all.map(\.name)
    guard matches.isEmpty else {
      let named = matches.prefix(Self.namedLimit).map(\.name).joined(separator: " or ")
      let rest = matches.count > Self.namedLimit ? " or \(matches.count - Self.namedLimit) others" : ""
      throw VaultError(.ambiguous, "\(reference) could be \(named)\(rest)", hint: "name one by more of its name")
    }
    let usual =
      all.count > Self.namedLimit
      ? "see them with `vault peer list`" : "your peers are: \(names.joined(separator: ", "))"
    throw VaultError(
      .notFound, "you have no peer named \(reference)",
      hint: all.isEmpty ? "add one with `vault peer add`" : NearNames.question(reference, among: names) ?? usual)
  }

  /// Most peers or secrets that one sentence names.
  static let namedLimit = 8

  /// The beginning of a fingerprint or card digest that a user means; nil if it can't be one.
  ///
  /// Every character must be a digit or separator: a peer can choose its keys so that their digest begins with the letters of somebody's name.
  static func digits(of reference: String) -> String? {
    let isNumber = reference.utf8.contains { (48...57).contains($0) }
    let separators: Set<Character> = [" ", "-", ":"]
    let compact = reference.lowercased().filter { !separators.contains($0) }
    let isHexadecimal = compact.allSatisfy(\.isHexDigit) && compact.utf8.count == compact.count
    return isNumber && isHexadecimal && compact.count >= 4 ? compact : nil
  }

  func storedCard(_ peer: PeerRecord) throws -> PeerCard {
    do { return try core.cards.decode(peer.card) } catch {
      throw VaultError(.damaged, "the stored card of \(peer.name) is damaged", hint: "add it again")
    }
  }

  /// The peer as routes need it: the user's addresses first, then those in its card; and how it is found in the room. Of somebody who was
  /// introduced only a few, called only so often: they may be a third party's.
  func recipient(_ peer: PeerRecord) throws -> Recipient {
    let card = try storedCard(peer)
    var addresses = addresses(of: peer, card)
    if peer.introducer != nil { addresses = Array(addresses.prefix(IntroducedDials.addressLimit)) }
    var recipient = Recipient(
      name: peer.name, keys: card.keys, addresses: addresses, nearby: nearbyAccess(to: peer),
      findLocally: localSearch(for: peer), isPeer: peer.introducer == nil)
    if let dealer = peer.introducer {
      recipient.mayDial = { [introducedDials, environment] in
        introducedDials.begin(dealer, at: environment.monotonic())
      }
    }
    return recipient
  }

  private func addresses(of peer: PeerRecord, _ card: PeerCard) -> [PeerAddress] {
    var addresses: [PeerAddress] = []
    for text in peer.addresses {
      if let address = try? PeerAddress(parsing: text), !addresses.contains(address) { addresses.append(address) }
    }
    for address in card.addresses where !addresses.contains(address) { addresses.append(address) }
    return addresses
  }

  func summary(_ peer: PeerRecord) throws -> PeerSummary {
    let card = try storedCard(peer)
    var summary = PeerSummary(
      name: peer.name, label: card.label, state: peer.state == .proven ? .proven : .scanned,
      fingerprint: card.fingerprint, cardDigest: peer.digest.description,
      addresses: addresses(of: peer, card), cardText: card.text(), addedAt: peer.addedAt,
      lastSeenAt: peer.lastSeenAt)
    summary.isFoundLocally = summary.addresses.isEmpty && localSearch(for: peer) != nil
    summary.person = peer.person
    if let person = peer.person {
      let devices = try database.peers()
        .filter { ($0.person ?? $0.digest) == person && $0.addedAt <= peer.addedAt && $0.digest != peer.digest }
      let first = devices.first { $0.digest == person } ?? devices.min { $0.addedAt < $1.addedAt }
      summary.deviceOf = first?.name
    }
    return summary
  }
}
