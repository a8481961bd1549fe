import Sodium
import XMPPRequests

/// What a stanza says, read strictly. Whatever it is, the worst is that it is passed over.
enum IncomingStanza {
  /// Longest id that is used.
  static let idLimit = 256
  static let stampLimit = 64

  /// What a message says, with the `stamp` of what contains it, and the name that it has in an archive. `account` is who is
  /// logged in: a message without a sender is from its own server.
  static func events(
    message: XMLElement, account: JID, stamp: String? = nil, archiveID: String? = nil
  ) -> [XMPPEvent] {
    for word in ["sent", "received"] {
      if let copy = message.child(word, Namespace.carbons) { return events(copy: copy, in: message, account: account) }
    }
    let from: JID
    do throws(XMPPError) { from = try sender(message, account: account) } catch {
      return [.ignored("a message from nobody")]
    }
    let id = message["id"].flatMap { $0.utf8.count <= idLimit ? $0 : nil }
    switch message["type"] ?? "normal" {
    case "error":
      guard let id else { return [] }
      return [.undelivered(id: id, to: from, message.errorCondition)]
    case "normal", "chat": break
    // Of rooms and of headlines nothing is wanted.
    default: return []
    }
    var events: [XMPPEvent] = []
    let stamp = stamp ?? self.stamp(message)
    if let receipt = message.child("received", Namespace.receipts) {
      if let id = receipt["id"], id.utf8.count <= idLimit {
        events.append(.receipt(id: id, from: from))
      } else {
        events.append(.ignored("a receipt for nothing"))
      }
    }
    if let element = message.child("parcel", Namespace.parcel) {
      if let part = part(element, from: from, stamp: stamp) {
        events.append(.parcel(part))
      } else {
        events.append(.ignored("a parcel that isn't one"))
      }
    } else {
      // What is said in words is in the archive, too, and comes once more with the next login: without a name nobody would know it again.
      guard message.child("offline", Namespace.putAside) == nil else { return events }
      let words = (
        body: message.child("body", Namespace.client)?.text ?? "",
        subject: message.child("subject", Namespace.client)?.text ?? ""
      )
      guard !words.body.isEmpty || !words.subject.isEmpty else { return events }
      let (body, subject) = (cut(words.body, XMPPMessage.takenLimit), cut(words.subject, XMPPMessage.subjectLimit))
      let missing = words.body.utf8.count - body.utf8.count + words.subject.utf8.count - subject.utf8.count
      let wantsReceipt = id != nil && message.child("request", Namespace.receipts) != nil
      events.append(
        .message(
          XMPPMessage(
            id: id, from: from, to: message["to"].flatMap { try? JID($0) }, body: body, stamp: stamp,
            wantsReceipt: wantsReceipt, archiveID: archiveID ?? self.archiveID(message, account: account),
            subject: subject.isEmpty ? nil : subject, missing: missing)))
    }
    return events
  }

  /// What another program of the account has said or heard. Whoever else says so wants to put words into somebody's mouth.
  private static func events(copy: XMLElement, in message: XMLElement, account: JID) -> [XMPPEvent] {
    guard let from = try? sender(message, account: account), from == account.bare,
      let inner = copy.child("forwarded", Namespace.forward)?.child("message", Namespace.client),
      let sender = inner["from"].flatMap({ try? JID($0) }), (sender.bare == account.bare) == (copy.name == "sent"),
      !["sent", "received"].contains(where: { inner.child($0, Namespace.carbons) != nil })
    else { return [.ignored("a copy that isn't one")] }
    return events(message: inner, account: account).compactMap { event in
      if case .message(let message) = event { .copy(message) } else { nil }
    }
  }

  static func events(presence: XMLElement, account: JID) -> [XMPPEvent] {
    guard let from = try? sender(presence, account: account) else { return [.ignored("a presence of nobody")] }
    let type = presence["type"]
    if let change = type.flatMap(XMPPSubscriptionChange.init(rawValue:)) {
      return [.subscription(change, from: from.bare)]
    }
    let state: XMPPPresence.State
    switch type {
    case nil:
      let show = presence.child("show", Namespace.client)?.text
      state = show.flatMap(XMPPPresence.State.init(rawValue:)).flatMap { $0 == .unavailable ? nil : $0 } ?? .available
    case "unavailable": state = .unavailable
    default: return []
    }
    let status = presence.child("status", Namespace.client)?.text
    return [
      .presence(XMPPPresence(from: from, state: state, status: status.map { cut($0, XMPPPresence.statusLimit) }))
    ]
  }

  /// The entries of a roster; what isn't one is left out.
  static func contacts(_ query: XMLElement) -> [XMPPContact] {
    query.children.compactMap { item in
      guard item.name == "item", item.namespace == Namespace.roster, let text = item["jid"],
        let address = try? JID(text),
        let subscription = XMPPContact.Subscription(rawValue: item["subscription"] ?? "none")
      else { return nil }
      return XMPPContact(
        address: address.bare, name: item["name"].map { cut($0, XMPPContact.nameLimit) },
        subscription: subscription,
        isAsking: item["ask"] == "subscribe")
    }
  }

  static func sender(_ stanza: XMLElement, account: JID) throws(XMPPError) -> JID {
    guard let from = stanza["from"] else { return account.bare }
    return try JID(from)
  }

  static func part(_ element: XMLElement, from: JID, stamp: String?) -> XMPPParcelPart? {
    guard let id = element["id"], XMPPParcelPart.isID(id),
      let count = Int(element["of"] ?? "1"), (1...XMPPParcelPart.countLimit).contains(count),
      let number = Int(element["part"] ?? "0"), (0..<count).contains(number), element.children.isEmpty,
      let bytes = Base64Text.decodePublic(element.text, limit: XMPPParcelPart.sizeLimit)
    else { return nil }
    let isCarried = element["branch"] != nil || element["hops"] != nil
    let carriage = isCarried ? XMPPCarriage(branch: element["branch"], hops: element["hops"]) : nil
    guard isCarried == (carriage != nil) else { return nil }
    return XMPPParcelPart(
      id: id, from: from, number: number, count: count, bytes: bytes, stamp: stamp, carriage: carriage)
  }

  /// What the account's own server calls a message. What others call it is theirs to choose.
  private static func archiveID(_ message: XMLElement, account: JID) -> String? {
    let name = message.children.first { child in
      child.name == "stanza-id" && child.namespace == Namespace.stanzaID
        && child["by"].flatMap { try? JID($0) } == account.bare
    }
    return name?["id"].flatMap { $0.utf8.count <= idLimit ? $0 : nil }
  }

  static func stamp(_ stanza: XMLElement) -> String? {
    stanza.child("delay", Namespace.delay)?["stamp"].flatMap { stamp in
      stamp.utf8.count <= stampLimit && stamp.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? stamp : nil
    }
  }

  /// As many whole characters as fit.
  private static func cut(_ text: String, _ limit: Int) -> String {
    guard text.utf8.count > limit else { return text }
    var count = 0
    let kept = text.unicodeScalars.prefix { scalar in
      count += String(scalar).utf8.count
      return count <= limit
    }
    return String(String.UnicodeScalarView(kept))
  }
}
