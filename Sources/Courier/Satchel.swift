/// What a device carries for others, and who of them loses something when there is no room.
///
/// - Within ``CarryingLimits/bytes``, all devices that aren't peers together within ``CarryingLimits/strangerRoom``,
///   each giver within ``CarryingLimits/bytesPerGiver``.
/// - When it is full, whoever gave most loses first, and only to somebody who then has no more than they: so the rooms
///   of all who want more than there is become equal, and who fills the satchel displaces nobody who gave less. Of one
///   giver's parcels the one that expires first goes.
/// - A stranger displaces only strangers: a crowd of invented identities gets their room, never that of peers.
public struct Satchel: Sendable, Codable {
  /// What became of a parcel that somebody gave.
  public enum Taking: Hashable, Sendable {
    /// It is carried; these were dropped for it.
    case taken(evicted: [ParcelKey])
    /// It is here already.
    case known
    /// It is too large for the whole room, or there is none for it without being unfair.
    case full
    /// Its giver has as much here as one may have.
    case giverFull
  }

  /// The parcels by id.
  public internal(set) var parcels: [ParcelKey: CarriedParcel] = [:]
  var costs: [DeviceKey: Int] = [:]
  var strangers: Set<DeviceKey> = []
  /// Room that is taken.
  public internal(set) var cost = 0
  var strangerCost = 0
  var costByParcel: [ParcelKey: Int] = [:]

  /// Carries nothing.
  public init() {}

  /// Bytes of all parcels.
  public var bytes: Int { parcels.values.reduce(0) { $0 + $1.header.size } }

  /// Room that parcels from `giver` take.
  public func cost(of giver: DeviceKey) -> Int { costs[giver, default: 0] }

  /// What would become of `parcel`.
  public func taking(_ parcel: CarriedParcel, _ limits: CarryingLimits) -> Taking {
    guard parcels[parcel.header.id] == nil else { return .known }
    let cost = limits.cost(of: parcel.header.size)
    let after = self.cost(of: parcel.from) + cost
    guard after <= limits.bytesPerGiver else { return .giverFull }
    let stranger = isStranger(parcel)
    guard cost <= (stranger ? limits.strangerRoom : limits.bytes) else { return .full }
    guard let victims = victims(for: cost, of: parcel.from, stranger, after, limits) else { return .full }
    return .taken(evicted: victims)
  }

  /// Puts `parcel` in if there is room for it, or if somebody who has more can make room.
  public mutating func take(_ parcel: CarriedParcel, _ limits: CarryingLimits) -> Taking {
    let taking = taking(parcel, limits)
    guard case .taken(let victims) = taking else { return taking }
    let (cost, stranger) = (limits.cost(of: parcel.header.size), isStranger(parcel))
    for victim in victims { remove(victim) }
    // Whoever was a peer when the others of theirs came has them in the strangers' room from now on.
    if stranger, strangers.insert(parcel.from).inserted { strangerCost += self.cost(of: parcel.from) }
    parcels[parcel.header.id] = parcel
    add(cost, to: parcel.from)
    costByParcel[parcel.header.id] = cost
    return taking
  }

  /// Whoever was a stranger once stays one until all of theirs is gone, so that the sums hold.
  private func isStranger(_ parcel: CarriedParcel) -> Bool { !parcel.fromPeer || strangers.contains(parcel.from) }

  /// Takes a parcel out; returns it if it was here.
  @discardableResult
  public mutating func remove(_ id: ParcelKey) -> CarriedParcel? {
    guard let parcel = parcels.removeValue(forKey: id) else { return nil }
    add(-(costByParcel.removeValue(forKey: id) ?? 0), to: parcel.from)
    return parcel
  }

  /// Drops what has expired; returns its ids.
  public mutating func removeExpired(at now: Int64) -> [ParcelKey] {
    let expired = parcels.values.filter { $0.header.expiresAt <= now }.map(\.header.id).sorted()
    for id in expired { remove(id) }
    return expired
  }

  /// Drops what no longer fits when a person has lowered the limits; returns its ids.
  public mutating func fit(_ limits: CarryingLimits) -> [ParcelKey] {
    // All at their cost under the new limits, in an order that doesn't depend on anything but the parcels.
    let old = parcels.values.sorted { ($0.receivedAt, $0.header.id) < ($1.receivedAt, $1.header.id) }
    self = Satchel()
    var dropped: [ParcelKey] = []
    for parcel in old {
      switch take(parcel, limits) {
      case .taken(let evicted): dropped += evicted
      case .known, .full, .giverFull: dropped.append(parcel.header.id)
      }
    }
    return dropped
  }

  /// Changes a parcel that is here.
  mutating func update(_ id: ParcelKey, _ change: (inout CarriedParcel) -> Void) {
    if var parcel = parcels[id] {
      change(&parcel)
      parcels[id] = parcel
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
  ) -> [ParcelKey]? {
    var excess = cost + needed - limits.bytes
    let moving = stranger && !strangers.contains(giver) ? costs[giver, default: 0] : 0
    var strangerExcess = stranger ? strangerCost + moving + needed - limits.strangerRoom : 0
    guard excess > 0 || strangerExcess > 0 else { return [] }
    var left = costs
    var victims: [ParcelKey] = []
    var queues: [DeviceKey: [CarriedParcel]] = [:]
    while excess > 0 || strangerExcess > 0 {
      let candidates = left.filter { one in one.key != giver && (!stranger || strangers.contains(one.key)) }
      guard let heaviest = candidates.max(by: { ($0.value, $0.key) < ($1.value, $1.key) }), heaviest.value >= after
      else {
        return nil
      }
      let queue =
        queues[heaviest.key]
        ?? parcels.values.filter { $0.from == heaviest.key }
        .sorted { ($0.header.expiresAt, $0.header.id) > ($1.header.expiresAt, $1.header.id) }
      guard let victim = queue.last else { return nil }
      queues[heaviest.key] = queue.dropLast()
      let freed = costByParcel[victim.header.id] ?? 0
      left[heaviest.key] = heaviest.value - freed
      excess -= freed
      if strangers.contains(heaviest.key) { strangerExcess -= freed }
      victims.append(victim.header.id)
    }
    return victims
  }
}
