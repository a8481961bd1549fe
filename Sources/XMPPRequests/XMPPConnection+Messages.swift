extension XMPPConnection {
  /// Sends a text. `id` is the caller's name for it, to find the receipt by and to send it again under.
  ///
  /// Returns when its turn to be sent has come. Only the recipient's receipt says that it arrived.
  package func send(_ text: String, to: JID, id: String, wantsReceipt: Bool = true) async throws(XMPPError) {
    try Self.check(text, limit: XMPPMessage.bodyLimit)
    guard XMPPParcelPart.isID(id) else { throw .invalidContent("the id isn't printable ASCII") }
    try await ask(.message(text: text, to: to, id: id, wantsReceipt: wantsReceipt))
  }

  /// Sends a parcel, in as many parts as it needs; with `carriage` one that somebody else has made. Returns when the
  /// turn of the last part has come.
  ///
  /// The receipt comes for the parcel as a whole, under its id. The parts are as in the documents: an element of its
  /// own namespace, which servers leave alone, unlike attributes that they don't know.
  package func send(parcel bytes: [UInt8], to: JID, id: String, carriage: XMPPCarriage? = nil) async throws(XMPPError) {
    for number in 0..<XMPPParcelPart.parts(bytes.count) {
      try await send(part: number, of: bytes, to: to, id: id, carriage: carriage)
    }
  }

  /// Sends one part of a parcel, by numbers from 0, in any order and with anything between them.
  package func send(
    part number: Int, of bytes: [UInt8], to: JID, id: String, carriage: XMPPCarriage? = nil
  ) async throws(XMPPError) {
    guard XMPPParcelPart.isID(id) else { throw .invalidContent("the id isn't printable ASCII") }
    let count = XMPPParcelPart.parts(bytes.count)
    guard count <= XMPPParcelPart.countLimit else { throw .invalidContent("the parcel is too large") }
    guard (0..<count).contains(number) else { throw .invalidContent("the parcel has no such part") }
    let start = number * XMPPParcelPart.sizeLimit
    let part = Array(bytes[start..<min(start + XMPPParcelPart.sizeLimit, bytes.count)])
    try await ask(
      .part(XMPPOutgoingPart(id: id, to: to, number: number, count: count, bytes: part, carriage: carriage)))
  }

  /// Lets the server tell what other programs of this account send and get, from now on (XEP-0280). Refused by one that
  /// doesn't know how.
  package func askForCopies() async throws(XMPPError) { try await ask(.copies) }

  /// Tells the sender that the message or parcel of this id is here and safe.
  package func acknowledge(_ id: String, to: JID) async throws(XMPPError) {
    try Self.check(id, limit: Self.nameLimit)
    try await ask(.acknowledge(id: id, to: to))
  }
}
