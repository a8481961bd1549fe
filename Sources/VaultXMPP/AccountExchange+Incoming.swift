import SecretVault
import Sodium
import VaultProtocol
import VaultStore
import XMPPLink

// What comes.
extension AccountExchange {
  /// Contacts and devices whose presence is remembered.
  private static let presentLimit = (contacts: FriendRecord.limit, devices: 16)
  /// Strangers that may wait to be accepted.
  private static let askingLimit = 100

  /// Takes what comes until the connection ends. Returns why it ended.
  func takeEvents() async -> XMPPError? {
    for await event in connection.events {
      happened()
      switch event {
      case .closed(let reason): return reason
      case .parcel(let part): await take(part)
      case .message(let message): _ = await take(message, isArchived: false)
      case .receipt(let id, let from):
        if let id = Self.bytes(id) {
          note { () throws(VaultError) in
            try vault.notePlain(id, account: account.id, contact: from.bare.description, .delivered)
          }
        }
      case .undelivered(let id, let to, let condition): undelivered(id, to, condition)
      case .contact(let contact):
        note { () throws(VaultError) in try vault.keepContact(account.id, contact) }
      case .subscription(let change, let from): take(change, from)
      case .presence(let presence): take(presence)
      case .missed(let count):
        log.warning("account \(account.address): \(count) things came too fast, and have to come again")
        // With the next connection: contacts and the archive are read at its beginning.
        connection.close()
      case .ignored(let reason): log.debug("account \(account.address): passed over \(reason)")
      }
    }
    return nil
  }

  // MARK: - Parcels

  private func take(_ part: XMPPParcelPart) async {
    let (isOfKnown, time) = (part.count > 1 && isKnown(part.from.bare), now)
    let whole = state.withLock { state in
      isOfKnown ? state.collector.add(part, at: time) : state.strangers.add(part, at: time)
    }
    guard let parcel = whole else { return }
    let taking: ParcelTaking
    do throws(VaultError) { taking = try vault.takeParcel(parcel.bytes, by: ParcelArrival(way: .account)) } catch {
      return log.error("account \(account.address): a parcel can't be taken: \(error.reason)")
    }
    // Only who sent something worth taking learns that somebody is here. What there is no room for comes again.
    guard case .taken = taking else { return }
    happened { state in
      state.report.parcelsTaken += 1
      state.hasQuestions = true
      state.isLookedThrough = false
    }
    await acknowledge(parcel.id, to: parcel.from)
  }

  private func acknowledge(_ id: String, to: JID) async {
    // The end of the connection is noticed elsewhere.
    let connection = connection
    try? await within(Self.answerLimit, sleep) { () throws(XMPPError) in try await connection.acknowledge(id, to: to) }
  }

  private func undelivered(_ id: String, _ to: JID?, _ condition: XMPPCondition) {
    guard let bytes = Self.bytes(id), let to else { return }
    log.debug("account \(account.address): \(to.bare) can't be reached: \(condition)")
    note { () throws(VaultError) in
      try vault.notePlain(bytes, account: account.id, contact: to.bare.description, .lost)
    }
  }

  /// Whether it is a contact's or a peer's address.
  private func isKnown(_ address: JID) -> Bool {
    let text = address.description
    if let friend = try? vault.friendRecord(account.id, text), !friend.asks || friend.peer != nil { return true }
    return (try? vault.isAccountAddress(text)) ?? false
  }

  // MARK: - Plain messages

  /// What became of a plain message.
  private enum Taking {
    /// It is here, or was already.
    case kept
    /// Nobody wants it.
    case unwanted
    /// It should be here, and isn't: there is no room, or something failed.
    case failed
  }

  /// Keeps a plain message of a contact, or of somebody who was written to. False if it should be kept, and isn't.
  func take(_ message: XMPPMessage, isArchived: Bool) async -> Bool {
    let own = connection.address.bare
    let isMine = message.from.bare == own
    guard let contact = isMine ? message.to?.bare : message.from.bare, contact != own, !isMine || isArchived else {
      return true
    }
    var taking = Taking.failed
    note { () throws(VaultError) in taking = try keep(message, of: contact, isMine: isMine, isArchived: isArchived) }
    guard taking == .kept, !isMine, !isArchived, message.wantsReceipt, let id = message.id, isFriend(contact) else {
      return taking != .failed
    }
    await acknowledge(id, to: message.from)
    return true
  }

  private func keep(
    _ message: XMPPMessage, of contact: JID, isMine: Bool, isArchived: Bool
  ) throws(VaultError) -> Taking {
    let name = contact.description
    // Strangers' texts aren't kept: anybody can write to an address.
    if !isMine, !isFriend(contact), try !vault.hasWritten(to: name, account: account.id) {
      log.debug("account \(account.address): somebody who is no contact writes; it is dropped")
      return .unwanted
    }
    guard let text = Self.text(message.body) else { return .failed }
    let id: [UInt8]
    if isMine, let known = message.id.flatMap(Self.bytes) {
      id = known
    } else if let stanza = message.id {
      id = try PlainMessage.id(stanza: stanza, contact: name, text: text)
    } else if isArchived || message.stamp != nil, try isKnown(text, from: contact) {
      return .kept
    } else {
      id = try PlainMessage.id(stanza: message.stamp ?? XMPPConnection.freshID(), contact: name, text: text)
    }
    if !isMine, try vault.isPlainFull(account: account.id, contact: name) { return .failed }
    let sentAt = message.stamp.flatMap { AccountStamp.milliseconds($0) } ?? vault.surroundings.now()
    let number = try vault.keepPlain(
      PlainMessage(id: id, contact: name, isMine: isMine, text: text, sentAt: sentAt), account: account.id)
    if number != nil { happened { $0.report.plainTaken += isMine ? 0 : 1 } }
    return .kept
  }

  private func isFriend(_ contact: JID) -> Bool {
    let known = try? vault.friendRecord(account.id, contact.description)
    return known.map { $0.subscription != .none } ?? false
  }

  /// Whether a text without a name of its own has come already.
  private func isKnown(_ text: HeldSecret, from contact: JID) throws(VaultError) -> Bool {
    try vault.recentPlainTexts(account: account.id, contact: contact.description).contains {
      $0.bytes.matches(text.bytes)
    }
  }

  private static func text(_ body: String) -> HeldSecret? {
    do throws(SodiumError) { return HeldSecret(try SecretBytes(copying: Array(body.utf8).span.bytes)) } catch {
      return nil
    }
  }

  /// The 16 bytes that 32 digits stand for: as this program names what it sends.
  static func bytes(_ id: String) -> [UInt8]? {
    let digits = Array(id.utf8)
    guard digits.count == 32 else { return nil }
    var bytes: [UInt8] = []
    for place in stride(from: 0, to: 32, by: 2) {
      guard let high = value(digits[place]), let low = value(digits[place + 1]) else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case 0x30...0x39: digit - 0x30
    case 0x61...0x66: digit - 0x61 + 10
    default: nil
    }
  }

  // MARK: - Contacts

  private func take(_ change: XMPPSubscriptionChange, _ from: JID) {
    note { () throws(VaultError) in
      switch change {
      case .requested:
        // Whoever has no name before the @ is a server, and nobody's friend.
        guard from.local != nil else { return }
        let known = try vault.friendRecord(account.id, from.description)
        guard known?.asks != true else { return }
        if known == nil, try vault.friendRecords(account.id).count(where: \.asks) >= Self.askingLimit { return }
        log.info("account \(account.address): somebody asks to be a friend: see `vault friend list`")
        try vault.keepFriend(account.id, from.description) { $0.asks = true }
      case .ended:
        guard let known = try vault.friendRecord(account.id, from.description), known.asks else { return }
        if known.subscription == .none, known.name == nil, known.peer == nil {
          try vault.forgetFriend(account.id, from.description)
        } else {
          try vault.keepFriend(account.id, from.description) { $0.asks = false }
        }
      // The roster changes with these, which is told by itself.
      case .approved, .refused: break
      }
    }
  }

  private func take(_ presence: XMPPPresence) {
    let contact = presence.from.bare
    // Somebody may be seen a moment before the server says that the subscription has changed.
    guard contact != connection.address.bare,
      (try? vault.friendRecord(account.id, contact.description)) != nil
    else { return }
    let best: XMPPPresence.State? = state.withLock { state in
      var devices = state.present[contact] ?? [:]
      let device = presence.from.resource ?? ""
      if presence.state == .unavailable {
        if presence.from.resource == nil { devices = [:] } else { devices[device] = nil }
      } else if devices[device] != nil || devices.count < Self.presentLimit.devices {
        devices[device] = presence.state
      }
      if devices.isEmpty {
        state.present[contact] = nil
      } else if state.present[contact] != nil || state.present.count < Self.presentLimit.contacts {
        state.present[contact] = devices
      }
      return devices.values.min { Self.rank($0) < Self.rank($1) }
    }
    guard !answers else { return }
    note { () throws(VaultError) in
      guard try vault.friendRecord(account.id, contact.description) != nil else { return }
      let now = vault.surroundings.now()
      try vault.keepFriend(account.id, contact.description) { friend in
        guard friend.presence != best?.rawValue else { return }
        friend.presence = best?.rawValue
        friend.presenceAt = now
      }
    }
  }

  /// Who can be talked to best comes first.
  private static func rank(_ state: XMPPPresence.State) -> Int {
    switch state {
    case .chat: 0
    case .available: 1
    case .away: 2
    case .doNotDisturb: 3
    case .extendedAway: 4
    case .unavailable: 5
    }
  }
}
