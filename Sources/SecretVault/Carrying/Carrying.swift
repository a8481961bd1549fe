import Courier
import Sodium
import VaultStore

/// What is carried for others, and what this device remembers of meetings.
package final class Carrying: Room {
  package let core: VaultCore
  let memory = MeetingMemory()

  init(_ core: VaultCore) {
    self.core = core
  }

  /// This device, as carriers know it.
  func ownDevice() throws -> DeviceKey { try Self.device(identity.keys.digest) }

  func readCourier() throws -> Courier {
    let own = try ownDevice()
    return try mendingCourier { () throws(StoreError) in try database.readCourier(own: own) }
  }

  /// Changes the courier's state in one transaction, which also removes the contents of what isn't carried any more.
  func changeCourier<Value>(
    _ body: (inout Courier, inout CarriedContents) throws(StoreError) -> Value
  ) throws -> Value {
    let own = try ownDevice()
    return try mendingCourier { () throws(StoreError) in try database.changeCourier(own: own, body) }
  }

  /// Damaged state is reset: only what is carried for others is lost with it.
  private func mendingCourier<Value>(_ body: () throws(StoreError) -> Value) throws -> Value {
    do { return try body() } catch StoreError.damaged(let what) {
      environment.log.error("\(what) is damaged: what was carried for others is given up")
      try database.resetCourier()
      return try body()
    }
  }

  static func device(_ digest: Digest) throws -> DeviceKey {
    guard let key = DeviceKey(digest.bytes) else { throw VaultError(.other, "a card's digest has the wrong size") }
    return key
  }
}
