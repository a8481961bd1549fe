import SecretVault
import Sodium
import VaultProtocol
import VaultStore
import XMPPRequests

// What comes.
extension AccountExchange {
  /// Contacts and devices whose presence is remembered.
  private static let presentLimit = (contacts: FriendRecord.limit, devices: 16)
  /// Strangers that may wait to be accepted.
  private static let askingLimit = 100

  /// Takes what comes until the connection ends. Returns why it ended.
  func takeEvents() async -> XMPPError? {
    for await event in connection.events {
      happened { $0.isTaking = true }
      defer { happened { $0.isTaking = false } }
      switch event {
      case .closed(let reason): return reason
      case .parcel(let part): await take(part)
      case .message(let message): _ = await take(message)
      case .copy(let message): _ = await take(message, isCopy: true)
      case .receipt(let id, let from):
        if let id = Self.bytes(id) {
          note {
            try rooms.messages.notePlain(id, account: account.id, contact: from.bare.description, .delivered)
            if let id = ParcelID(id) { try rooms.post.acknowledgedByAccount(id, from: from.bare.description) }
          }
          happened { $0.report.receipts += 1 }
        }
      case .undelivered(let id, let to, let condition): undelivered(id, to, condition)
      case .contact(let contact):
        note { try rooms.accounts.keepContact(account.id, contact) }
        await acceptBack(contact.address)
        await takeHeld(of: contact.address.bare)
      case .subscription(let change, let from):
        take(change, from)
        if change == .requested {
          await acceptBack(from)
          await takeHeld(of: from.bare)
        }
      case .presence(let presence): take(presence)
      case .missed(let count):
        log.warning("\(account.logName): \(count) things came too fast, and have to come again")
        // With the next connection: contacts and the archive are read at its beginning.
        connection.close()
      case .ignored(let reason): log.debug("\(account.logName): passed over \(reason)")
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
    let (taking, from): (ParcelTaking, Digest?)
    do {
      from = try rooms.accounts.peerDigest(at: parcel.from.bare.description)
      let arrival = ParcelArrival(
        way: .account, from: from, hops: parcel.carriage?.hops ?? 0,
        branch: parcel.carriage?.branch ?? ParcelArrival.noBranch)
      taking = try rooms.intake.takeParcel(parcel.bytes, by: arrival)
    } catch {
      return log.error("\(account.logName): a parcel can't be taken: \(VaultError(error).reason)")
    }
    // Only who sent something worth taking learns that somebody is here. What there is no room for comes again.
    guard taking.isTaken else { return }
    happened { state in
      // Others can send again what they have seen, as often as they like.
      if taking.isNew {
        state.report.parcelsTaken += 1
        state.report.bytesTaken += parcel.bytes.count
      }
      state.hasQuestions = true
      state.isLookedThrough = false
    }
    // Whoever has captured a parcel can send it again: that tells him nothing.
    guard taking.isNew || from != nil || isKnown(parcel.from.bare) else { return }
    await acknowledge(parcel.id, to: parcel.from)
  }

  func acknowledge(_ id: String, to: JID) async {
    // The end of the connection is noticed elsewhere.
    let connection = connection
    try? await patiently { () throws(XMPPError) in try await connection.acknowledge(id, to: to) }
  }

  private func undelivered(_ id: String, _ to: JID?, _ condition: XMPPCondition) {
    guard let to, let bytes = Self.bytes(id, count: 32) ?? Self.bytes(id) else { return }
    log.debug("\(account.logName): \(to.bare) can't be reached: \(condition)")
    if bytes.count == 32 { return cameBack(bytes, from: to) }
    note { try rooms.messages.notePlain(bytes, account: account.id, contact: to.bare.description, .lost) }
  }

  /// Whether it is a contact's or a peer's address.
  private func isKnown(_ address: JID) -> Bool {
    let text = address.description
    if let friend = try? rooms.accounts.friendRecord(account.id, text), friend.isContact { return true }
    return (try? rooms.accounts.isAccountAddress(text)) ?? false
  }

  /// The bytes that digits stand for: 16 as this program names what it sends, 32 for a copy of somebody else's parcel.
  static func bytes(_ id: String, count: Int = 16) -> [UInt8]? {
    guard id.utf8.count == 2 * count, let bytes = Sodium.bytes(hexadecimal: id), hexadecimal(bytes) == id else {
      return nil
    }
    return bytes
  }

  // MARK: - Contacts

  private func take(_ change: XMPPSubscriptionChange, _ from: JID) {
    note {
      switch change {
      case .requested:
        // Whoever has no name before the @ is a server, and nobody's friend.
        guard from.local != nil else { return }
        let known = try rooms.accounts.friendRecord(account.id, from.description)
        guard known?.asks != true, known?.subscription != .blocked else { return }
        if known == nil, try rooms.accounts.friendRecords(account.id).count(where: \.asks) >= Self.askingLimit {
          return
        }
        if known?.subscription != .to {
          log.info("\(account.logName): somebody asks to be a friend: see `vault account friend list`")
        }
        try rooms.accounts.keepFriend(account.id, from.description) { $0.asks = true }
        if known?.subscription != .to { happened { $0.report.friendRequests += 1 } }
      case .ended:
        guard try rooms.accounts.friendRecord(account.id, from.description)?.asks == true else { return }
        try rooms.accounts.changeFriend(account.id, from.description) { friend in
          guard let known = friend, known.asks else { return }
          let isOther = known.subscription != .none || known.name != nil || known.peer != nil
          if isOther { friend?.asks = false } else { friend = nil }
        }
      // The roster changes with these, which is told by itself.
      case .approved, .refused: break
      }
    }
  }

  /// Accepts who asks after this account has asked and was accepted: friends see each other, and its user has said who
  /// is one.
  private func acceptBack(_ contact: JID) async {
    let known = try? rooms.accounts.friendRecord(account.id, contact.description)
    guard let known, known.asks, known.subscription == .to else { return }
    // The roster says when it has come about; if the connection ends before, the server tells of the request again.
    let connection = connection
    try? await patiently { () throws(XMPPError) in try await connection.change(.approved, with: contact) }
  }

  private func take(_ presence: XMPPPresence) {
    let contact = presence.from.bare
    // Somebody may be seen a moment before the server says that the subscription has changed.
    guard contact != connection.address.bare,
      (try? rooms.accounts.friendRecord(account.id, contact.description)) != nil
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
    note {
      let known = try rooms.accounts.friendRecord(account.id, contact.description)
      guard let known, known.presence != best?.rawValue else { return }
      let now = rooms.core.surroundings.now()
      try rooms.accounts.changeFriend(account.id, contact.description) { friend in
        friend?.presence = best?.rawValue
        friend?.presenceAt = now
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
