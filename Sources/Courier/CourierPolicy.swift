/// How a device spreads its own parcels, and what it does with those of others.
package struct CourierPolicy: Hashable, Sendable {
  /// Carriers that get a parcel from its sender, at most five.
  package internal(set) var carriers: Int
  /// Carriers in a row, from one to eight. With one, carriers give it to nobody but its recipient or a server.
  package internal(set) var hops: UInt8
  /// Better carriers that a carrier hands a parcel on to.
  package internal(set) var handOn: Int
  /// Milliseconds after which a sender stops waiting for a carrier better than itself, for each of its carriers.
  package internal(set) var patience: Int64
  package internal(set) var usesRecords: Bool

  /// Numbers out of bounds become the nearest that are allowed.
  package init(carriers: Int = 5, hops: UInt8 = 3, handOn: Int = 2, patience: Int64 = 0, usesRecords: Bool = true) {
    self.carriers = min(max(carriers, 0), ParcelHeader.branchLimit)
    self.hops = min(max(hops, 1), ParcelHeader.hopLimit)
    self.handOn = min(max(handOn, 0), Self.handOnLimit)
    self.patience = max(patience, 0)
    self.usesRecords = usesRecords
  }

  static let handOnLimit = 4
  /// How much reaching a server counts against meeting the recipient.
  static let serverWeight = 0.25
  /// One in so many parcels is given to a carrier that is shunned, to see whether it does better.
  static let exploration: UInt64 = 16
}
