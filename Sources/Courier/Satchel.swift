/// What a device carries for others, and who of them loses something when there is no room.
///
/// - Within ``CarryingLimits/bytes``, all devices that aren't peers together within ``CarryingLimits/strangerRoom``,
///   each giver within ``CarryingLimits/bytesPerGiver``.
/// - When it is full, whoever gave most loses first, and only to somebody who then has no more than they: so the rooms
///   of all who want more than there is become equal, and who fills the satchel displaces nobody who gave less. Of one
///   giver's parcels the one that expires first goes.
/// - Of one parcel there may be several copies, and nobody but its recipient can tell which is true: each is carried
///   for itself, at its giver's cost, at most ``copyLimit`` from one giver.
/// - A stranger displaces only strangers: a crowd of invented identities gets their room, never that of peers.
package struct Satchel: Sendable {
  enum Taking: Hashable {
    /// It is carried; these were dropped for it.
    case taken(evicted: [CopyKey])
    case known
    /// It is too large for the whole room, or there is none for it without being unfair.
    case full
    /// Its giver has as much here as one may have, or as many copies of this parcel.
    case giverFull
  }

  /// Most copies of one parcel from one giver. An honest one has more than one where somebody has spoilt the id: so
  /// many that a true one gets through three carriers behind one liar that meets each of them.
  static let copyLimit = 4

  package internal(set) var parcels: [CopyKey: CarriedParcel] = [:]
  private var names: [ParcelKey: Set<CopyKey>] = [:]
  var costs: [DeviceKey: Int] = [:]
  var strangers: Set<DeviceKey> = []
  package internal(set) var cost = 0
  var strangerCost = 0
  var costByParcel: [CopyKey: Int] = [:]

  func cost(of giver: DeviceKey) -> Int { costs[giver, default: 0] }

  func taking(_ parcel: CarriedParcel, _ limits: CarryingLimits) -> Taking {
    guard parcels[parcel.header.copy] == nil else { return .known }
    guard copies(of: parcel.header.id, from: parcel.from) < Self.copyLimit else { return .giverFull }
    let cost = limits.cost(of: parcel.header.size)
    let after = self.cost(of: parcel.from) + cost
    guard after <= limits.bytesPerGiver else { return .giverFull }
    let stranger = isStranger(parcel)
    guard cost <= (stranger ? limits.strangerRoom : limits.room) else { return .full }
    guard let victims = victims(for: cost, of: parcel.from, stranger, after, limits) else { return .full }
    return .taken(evicted: victims)
  }

  /// Puts `parcel` in if there is room for it, or if somebody who has more can make room.
  mutating func take(_ parcel: CarriedParcel, _ limits: CarryingLimits) -> Taking {
    let taking = taking(parcel, limits)
    guard case .taken(let victims) = taking else { return taking }
    let (cost, stranger) = (limits.cost(of: parcel.header.size), isStranger(parcel))
    for victim in victims { remove(victim) }
    // Whoever was a peer when the others of theirs came has them in the strangers' room from now on.
    if stranger, strangers.insert(parcel.from).inserted { strangerCost += self.cost(of: parcel.from) }
    put(parcel)
    add(cost, to: parcel.from)
    costByParcel[parcel.header.copy] = cost
    return taking
  }

  func copies(of id: ParcelKey) -> Set<CopyKey> { names[id] ?? [] }

  func copies(of id: ParcelKey, from giver: DeviceKey) -> Int {
    copies(of: id).count { parcels[$0]?.from == giver }
  }

  /// Which of the copies that their givers have brought of one parcel each is: the first, the second, and so on.
  func turns() -> [CopyKey: Int] {
    var turns: [CopyKey: Int] = [:]
    for copies in names.values where copies.count > 1 {
      var counts: [DeviceKey: Int] = [:]
      let inOrder = copies.compactMap { parcels[$0] }
        .sorted { ($0.receivedAt, $0.header.copy) < ($1.receivedAt, $1.header.copy) }
      for parcel in inOrder {
        let count = counts[parcel.from, default: 0]
        if count > 0 { turns[parcel.header.copy] = count }
        counts[parcel.from] = count + 1
      }
    }
    return turns
  }

  mutating func put(_ parcel: CarriedParcel) {
    parcels[parcel.header.copy] = parcel
    names[parcel.header.id, default: []].insert(parcel.header.copy)
  }

  /// Gives a copy the name that it should have. One that is here under that name already stays as it is.
  mutating func rename(_ copy: CopyKey, _ name: CopyKey) {
    guard parcels[name] == nil else { return remove(copy) }
    guard var parcel = parcels.removeValue(forKey: copy) else { return }
    forget(copy)
    parcel.header.copy = name
    put(parcel)
    costByParcel[name] = costByParcel.removeValue(forKey: copy)
  }

  private mutating func forget(_ copy: CopyKey) {
    names[copy.id]?.remove(copy)
    if names[copy.id]?.isEmpty == true { names[copy.id] = nil }
  }

  /// Whoever was a stranger once stays one until all of theirs is gone, so that the sums hold.
  private func isStranger(_ parcel: CarriedParcel) -> Bool { !parcel.fromPeer || strangers.contains(parcel.from) }

  mutating func remove(_ copy: CopyKey) {
    guard let parcel = parcels.removeValue(forKey: copy) else { return }
    forget(copy)
    add(-(costByParcel.removeValue(forKey: copy) ?? 0), to: parcel.from)
  }

  mutating func removeExpired(at now: Int64) {
    for (copy, parcel) in parcels where parcel.header.expiresAt <= now { remove(copy) }
  }

  /// Drops what no longer fits when a person has lowered the limits; returns which copies that were.
  mutating func fit(_ limits: CarryingLimits) -> [CopyKey] {
    // All at their cost under the new limits, in an order that doesn't depend on anything but the parcels.
    let old = parcels.values.sorted { ($0.receivedAt, $0.header.copy) < ($1.receivedAt, $1.header.copy) }
    self = Satchel()
    var dropped: [CopyKey] = []
    for parcel in old {
      if case .taken(let evicted) = take(parcel, limits) {
        dropped += evicted
      } else {
        dropped.append(parcel.header.copy)
      }
    }
    return dropped
  }

  mutating func update(_ copy: CopyKey, _ change: (inout CarriedParcel) -> Void) {
    if var parcel = parcels[copy] {
      change(&parcel)
      parcels[copy] = parcel
    }
  }

  private mutating func add(_ amount: Int, to giver: DeviceKey) {
    let new = costs[giver, default: 0] + amount
    cost += amount
    if strangers.contains(giver) { strangerCost += amount }
    if new > 0 {
      costs[giver] = new
    } else {
      costs[giver] = nil
      strangers.remove(giver)
    }
  }

  /// The parcels that have to go for `needed` of the room, or nil if that would be unfair to those who gave them.
  private func victims(
    for needed: Int, of giver: DeviceKey, _ stranger: Bool, _ after: Int, _ limits: CarryingLimits
  ) -> [CopyKey]? {
    var excess = cost + needed - limits.room
    let moving = stranger && !strangers.contains(giver) ? costs[giver, default: 0] : 0
    var strangerExcess = stranger ? strangerCost + moving + needed - limits.strangerRoom : 0
    guard excess > 0 || strangerExcess > 0 else { return [] }
    var left = costs
    var victims: [CopyKey] = []
    var queues: [DeviceKey: [CarriedParcel]] = [:]
    while excess > 0 || strangerExcess > 0 {
      let candidates = left.filter { one in one.key != giver && (!stranger || strangers.contains(one.key)) }
      guard let heaviest = candidates.max(by: { ($0.value, $0.key) < ($1.value, $1.key) }), heaviest.value >= after
      else { return nil }
      let queue =
        queues[heaviest.key]
        ?? parcels.values.filter { $0.from == heaviest.key }
        .sorted { ($0.header.expiresAt, $0.header.copy) > ($1.header.expiresAt, $1.header.copy) }
      guard let victim = queue.last else { return nil }
      queues[heaviest.key] = queue.dropLast()
      let freed = costByParcel[victim.header.copy] ?? 0
      left[heaviest.key] = heaviest.value - freed
      excess -= freed
      if strangers.contains(heaviest.key) { strangerExcess -= freed }
      victims.append(victim.header.copy)
    }
    return victims
  }
}
