/// What is asked of a connection.
package enum XMPPRequest: Sendable {
  case message(text: String, to: JID, id: String, wantsReceipt: Bool)
  case part(XMPPOutgoingPart)
  /// Tell what other programs of this account send and get.
  case copies
  case acknowledge(id: String, to: JID)
  case features(of: JID?)
  case archive(with: JID?, from: XMPPArchivePlace, limit: Int)
  case roster
  case setContact(JID, name: String?)
  case removeContact(JID)
  case change(XMPPSubscriptionChange, with: JID)
  case announce(XMPPPresence.State, status: String?, priority: Int8, to: JID?)
  /// The server's names for what it has put aside.
  case putAside
  case view(putAside: String)
  case ping(JID?)
  case changePassword(Password)
}

/// What comes back.
package enum XMPPReply: Hashable, Sendable {
  case done
  case words([String])
  case page(XMPPArchivePage)
  case contacts([XMPPContact])
}

/// A part of a parcel on its way out.
package struct XMPPOutgoingPart: Hashable, Sendable {
  package let id: String
  package let to: JID
  /// From zero.
  package let number: Int
  package let count: Int
  package let bytes: [UInt8]
  package let carriage: XMPPCarriage?

  package init(id: String, to: JID, number: Int, count: Int, bytes: [UInt8], carriage: XMPPCarriage?) {
    self.id = id
    self.to = to
    self.number = number
    self.count = count
    self.bytes = bytes
    self.carriage = carriage
  }
}

/// Who carries a connection: a thread of XMPPLink in the same process, or another process that has it.
package protocol XMPPCarrier: AnyObject, Sendable {
  /// Sends, and waits for the answer if there is one, else until its turn to be sent has come.
  func perform(_ request: XMPPRequest) async throws(XMPPError) -> XMPPReply
  /// Bytes that the server's machine has taken of what was sent, and those that have come from it.
  func progress() async -> UInt64
  func logout()
  func close()
}

/// What a connection is for.
package enum XMPPGoal: Sendable {
  /// To be logged in, as this device.
  case login(resource: String?)
  /// To make the account.
  case registration(Password)
}
