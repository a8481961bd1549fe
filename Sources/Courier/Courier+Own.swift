/// What a device's own records say about parcels, which count more than what is remembered here.
extension Courier {
  /// Forgets an own parcel that isn't wanted any more, or that has arrived by another way. That says nothing about the
  /// carriers that have it.
  package mutating func withdraw(_ id: ParcelKey) { outgoing[id] = nil }

  /// Forgets a parcel of somebody else whose content is lost. It counts as having been here.
  package mutating func drop(_ copy: CopyKey) { satchel.remove(copy) }

  /// Parcels of which a state of an older version doesn't tell what their bytes hash to: those that are carried, and
  /// own ones. Nothing may be done with them before they have their names.
  package var unnamed: (carried: [ParcelKey], own: [ParcelKey]) {
    (
      satchel.parcels.keys.filter { !$0.isNamed }.map(\.id).sorted(),
      outgoing.values.filter { !$0.header.copy.isNamed }.map(\.header.id).sorted()
    )
  }

  package var isNamed: Bool {
    satchel.parcels.keys.allSatisfy(\.isNamed) && outgoing.values.allSatisfy(\.header.copy.isNamed)
  }

  /// Says what the bytes of such a parcel hash to. Nil: they are here no more, so it isn't carried any more, and none
  /// of this device's own that is on its way.
  package mutating func name(carried id: ParcelKey, _ digest: CopyDigest?) {
    let unnamed = CopyKey.unnamed(id)
    guard let parcel = satchel.parcels[unnamed] else { return }
    guard let digest, digest != .unknown else { return satchel.remove(unnamed) }
    let copy = CopyKey(id: id, digest: digest)
    satchel.rename(unnamed, copy)
    carried.insert(copy, until: parcel.header.expiresAt, at: parcel.receivedAt)
  }

  /// The same of an own one.
  package mutating func name(own id: ParcelKey, _ digest: CopyDigest?) {
    guard outgoing[id]?.header.copy.isNamed == false else { return }
    if let digest {
      outgoing[id]?.header.copy = CopyKey(id: id, digest: digest)
    } else {
      outgoing[id] = nil
    }
  }

  /// Whether there are receipts that a device hasn't been told since it was met.
  package func hasNews(for device: DeviceKey) -> Bool {
    !receipts.toTell(device, [], since: encounters.told(device)).isEmpty
  }

  package func leftToday(at now: Int64) -> Int { account.leftToday(limits, at: now) }

  /// Whether enough was carried for others, as the limits say, until others have carried more.
  package var hasDoneItsShare: Bool { !account.isFair(0, limits) }
}

extension Encounters {
  package struct Meeting: Hashable, Sendable {
    package let device: DeviceKey
    package let isPeer: Bool
    package let at: Int64
    /// How likely it is to be met again, from 0 to 1.
    package let predictability: Double
  }

  /// All that are remembered, the last one first.
  package func meetings(at now: Int64) -> [Meeting] {
    entries.map { device, entry in
      Meeting(
        device: device, isPeer: entry.isPeer, at: entry.metAt, predictability: predictability(of: device, at: now))
    }.sorted { ($1.at, $1.device) < ($0.at, $0.device) }
  }
}
