extension XMPPConnection {
  /// Sends a text. `id` is the caller's name for it, to find the receipt by and to send it again under.
  ///
  /// Returns when its turn to be sent has come. Only the recipient's receipt says that it arrived.
  package func send(_ text: String, to: JID, id: String, wantsReceipt: Bool = true) async throws(XMPPError) {
    try XMLWriter.check(text, limit: XMPPMessage.bodyLimit)
    guard XMLWriter.byteCount(of: text) <= XMPPMessage.writtenLimit else {
      throw .invalidContent("it has too many characters that XML writes in several")
    }
    guard XMPPParcelPart.isID(id) else { throw .invalidContent("the id isn't printable ASCII") }
    try await send { writer in
      writer.begin("message", nil, [("type", "chat"), ("to", to.description), ("id", id)])
      writer.element("body", text: text)
      if wantsReceipt { writer.element("request", Namespace.receipts) }
      // Kept for who is away, whatever the server thinks of it.
      writer.element("store", Namespace.hints)
    }
  }

  /// Sends a parcel, in as many parts as it needs; with `carriage` one that somebody else has made. Returns when the turn of the last one has come.
  ///
  /// The receipt comes for the parcel as a whole, under its id. The parts are as in the documents: an element of its
  /// own namespace, which servers leave alone, unlike attributes that they don't know.
  package func send(
    parcel bytes: [UInt8], to: JID, id: String, carriage: XMPPCarriage? = nil
  ) async throws(XMPPError) {
    for number in 0..<XMPPParcelPart.parts(bytes.count) {
      try await send(part: number, of: bytes, to: to, id: id, carriage: carriage)
    }
  }

  /// Sends one part of a parcel. All of them make it, from 0 to ``XMPPParcelPart/parts(_:)``, in any order and with anything between them.
  package func send(
    part number: Int, of bytes: [UInt8], to: JID, id: String, carriage: XMPPCarriage? = nil
  ) async throws(XMPPError) {
    guard XMPPParcelPart.isID(id) else { throw .invalidContent("the id isn't printable ASCII") }
    let count = XMPPParcelPart.parts(bytes.count)
    guard count <= XMPPParcelPart.countLimit else { throw .invalidContent("the parcel is too large") }
    guard (0..<count).contains(number) else { throw .invalidContent("the parcel has no such part") }
    var attributes: [(String, String?)] = [("id", id)]
    if let carriage { attributes += [("branch", String(carriage.branch)), ("hops", String(carriage.hops))] }
    if count > 1 { attributes += [("part", String(number)), ("of", String(count))] }
    let start = number * XMPPParcelPart.sizeLimit
    let part = Array(bytes[start..<min(start + XMPPParcelPart.sizeLimit, bytes.count)])
    try await send(part: part, attributes, isLast: number == count - 1, to: to, id: id)
  }

  private func send(
    part: [UInt8], _ attributes: [(String, String?)], isLast: Bool, to: JID, id: String
  ) async throws(XMPPError) {
    let text = Base64Bytes.encode(part)
    try await send { writer in
      // What can't be delivered comes back under the parcel's id, whichever part it was.
      writer.begin("message", nil, [("type", "chat"), ("to", to.description), ("id", id)])
      writer.begin("parcel", Namespace.parcel, attributes)
      writer.plain(text)
      writer.end()
      if isLast { writer.element("request", Namespace.receipts) }
      // For who is away, but not for the archive.
      writer.element("store", Namespace.hints)
      writer.element("no-permanent-store", Namespace.hints)
      // No copies for other programs of either account: none knows what to do with a part of a parcel.
      writer.element("private", Namespace.carbons)
      writer.element("no-copy", Namespace.hints)
    }
  }

  /// Lets the server tell what other programs of this account send and get, from now on (XEP-0280). Refused by one that doesn't know how.
  package func askForCopies() async throws(XMPPError) {
    _ = try await ask("set", to: nil) { writer, _ in writer.element("enable", Namespace.carbons) }
  }

  /// Tells the sender that the message or parcel of this id is here and safe.
  package func acknowledge(_ id: String, to: JID) async throws(XMPPError) {
    try XMLWriter.check(id, limit: IncomingStanza.idLimit)
    try await send { writer in
      writer.begin("message", nil, [("type", "chat"), ("to", to.description), ("id", Self.freshID())])
      writer.element("received", Namespace.receipts, [("id", id)])
      writer.element("store", Namespace.hints)
    }
  }
}
