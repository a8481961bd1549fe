import Sodium
@testable import VaultXMPP
@testable import XMPPLink
@testable import XMPPRequests

/// What XMPP servers, and whoever writes through them, may say.
enum ChatTargets {
  static let all = [stanza, chatAddress, chatStamp]

  /// A stanza as libstrophe would have read it: the input says which elements, attributes and texts it has.
  private static let stanza = FuzzTarget("stanza", upTo: 4096, judges: false) { input in
    var tape = Tape(input)
    let account = try JID("ada@example.org/here")
    var count = 0
    let element = element(&tape, depth: 0, &count)
    let stamp = tape.flag() ? tape.text(upTo: 80) : nil
    let stampLimit = max(IncomingStanza.stampLimit, stamp?.utf8.count ?? 0)
    for event in IncomingStanza.events(message: element, account: account, stamp: stamp) { check(event, stampLimit) }
    for event in IncomingStanza.events(presence: element, account: account) { check(event, stampLimit) }
    for contact in IncomingStanza.contacts(element) {
      require(contact.address.resource == nil, "a contact is somebody, not a device")
      require((contact.name?.utf8.count ?? 0) <= XMPPContact.nameLimit, "names are cut off")
    }
    return true
  }

  private static func check(_ event: XMPPEvent, _ stampLimit: Int) {
    require(event.size > 0, "an event counts")
    switch event {
    case .message(let message), .copy(let message):
      require(message.body.utf8.count <= XMPPMessage.takenLimit && message.missing >= 0, "texts have their limit")
      require((message.subject?.utf8.count ?? 1) <= XMPPMessage.subjectLimit, "subjects have their limit")
      require(!message.body.isEmpty || message.subject?.isEmpty == false, "something is said")
      require((message.id?.utf8.count ?? 0) <= IncomingStanza.idLimit, "ids have their limit")
      require((message.stamp?.utf8.count ?? 0) <= stampLimit, "stamps have their limit")
    case .parcel(let part):
      require(XMPPParcelPart.isID(part.id), "a parcel has a name that can be sent back")
      require(
        (0..<part.count).contains(part.number) && part.count <= XMPPParcelPart.countLimit, "parts are in their range")
      require(part.bytes.count <= XMPPParcelPart.sizeLimit, "parts have their limit")
      if let carriage = part.carriage {
        require(
          carriage.branch < XMPPCarriage.branchLimit && (1...XMPPCarriage.hopLimit).contains(carriage.hops),
          "what a carrier says has its limits")
      }
      var collector = XMPPParcelCollector(limits: .init(bytes: 4096, bytesOfSender: 2048, parcelsOfSender: 2))
      let whole = collector.add(part)
      require(
        part.count == 1 ? whole?.bytes == part.bytes && whole?.carriage == part.carriage : whole == nil,
        "one part is the whole, or not")
      require(collector.size <= 2048, "what waits has its limit")
    case .presence(let presence):
      require((presence.status?.utf8.count ?? 0) <= XMPPPresence.statusLimit, "words are cut off")
    case .receipt(let id, _), .undelivered(let id, _, _):
      require(id.utf8.count <= IncomingStanza.idLimit, "ids have their limit")
    default: break
    }
  }

  private static let words = [
    "message", "presence", "iq", "parcel", "received", "request", "body", "delay", "item", "show", "status", "error",
    "service-unavailable", "text", "query", "x", "subject", "sent", "forwarded", "message",
  ]
  private static let namespaces = [
    Namespace.client, Namespace.parcel, Namespace.receipts, Namespace.delay, Namespace.roster, Namespace.stanzaErrors,
    Namespace.streams, "", Namespace.carbons, Namespace.forward,
  ]
  private static let attributes = [
    "from", "to", "id", "type", "of", "part", "stamp", "jid", "name", "subscription", "ask", "by",
    "branch", "hops",
  ]
  private static let values = [
    "bob@example.org", "bob@example.org/phone", "example.org", "chat", "error", "groupchat", "unavailable", "subscribe",
    "0", "1", "2", "128", "-1", "both", "remove", "2026-11-22T23:04:05Z",
    "ada@example.org",
  ]

  private static func element(_ tape: inout Tape, depth: Int, _ count: inout Int) -> XMLElement {
    count += 1
    var element = XMLElement(
      name: depth == 0 ? "message" : words[tape.number(below: words.count)],
      namespace: depth == 0 ? Namespace.client : namespaces[tape.number(below: namespaces.count)])
    for _ in 0..<(tape.byte() % 8) {
      let name = attributes[tape.number(below: attributes.count)]
      element.attributes[name] = tape.flag() ? values[tape.number(below: values.count)] : tape.text(upTo: 300)
    }
    switch tape.byte() % 4 {
    case 0: break
    case 1: element.text = tape.text(upTo: 2048)
    case 2: element.text = String(decoding: Base64Text.encodePublic(tape.bytes(upTo: 1024)), as: UTF8.self)
    default: element.text = values[tape.number(below: values.count)]
    }
    for _ in 0..<(tape.byte() % 5) where tape.hasMore && depth < 6 && count < 60 {
      element.children.append(Self.element(&tape, depth: depth + 1, &count))
    }
    return element
  }

  private static let chatAddress = FuzzTarget("chat-address", upTo: 4096) { input in
    let address = try JID(String(decoding: input, as: UTF8.self))
    let text = address.description
    let again = prepared { try JID(text) }
    require(again == address && again.description == text, "an address has one normal form")
    require(address.bare.resource == nil && address.bare.domain == address.domain, "the rest of it stays")
    return true
  }

  private static let chatStamp = FuzzTarget("chat-stamp", upTo: 64) { input in
    guard let time = AccountStamp.milliseconds(String(decoding: input, as: UTF8.self)) else { return false }
    // The years 1970 to 9999, and a day for zones.
    require((-86_400_000...253_402_387_200_000).contains(time), "a moment is within the years that there are")
    return true
  }
}
