import PeerAuth
import Sodium
import Testing
import VaultProtocol

@testable import SecretVault
@testable import VaultStore

extension VaultTests {
  /// A key of ada's, of which ben holds a share and cleo none. They are never online at the same time.
  @Suite struct ItemParcels {
    let world: TestWorld
    let office: ParcelOffice

    init() async throws {
      world = try TestWorld(3)
      _ = try await world[0].vault.items.createKey(named: "family", threshold: 2, recipients: ["ben"]) { _ in }
      office = try ParcelOffice(world)
      world.cutOff()
    }

    private var ada: Vault { world[0].vault }
    private var ben: Vault { world[1].vault }
    private var cleo: Vault { world[2].vault }

    private func add(_ bytes: [UInt8]) async throws -> ItemSummary {
      let path = try world.scratch.write(bytes, as: "letter.txt")
      return try await ada.items.addItem(ItemRequest(source: .file(path: path), usesPublicHalf: true), under: "family")
    }

    @Test(arguments: [100, 300_000])
    func `an item comes by parcel to a peer that can't be reached`(byteCount: Int) async throws {
      let item = try await add(randomBytes(byteCount))
      let delivery = try ada.items.sendItemByParcel(item.id, to: "ben")
      #expect(delivery.isOnItsWay && delivery.peer == "ben")
      #expect(try ada.messages.outbox().parcels.map(\.kind) == ["item"])
      try await office.round()
      let received = try #require(try ben.items.items().first)
      #expect(received.id == item.id)
      #expect(try ada.messages.outbox().parcels.isEmpty)
      #expect(try ada.overview.log(limit: 5).contains { $0.event == "item-sent" && $0.peer == "ben" })
      // A second time it is known.
      _ = try ada.items.sendItemByParcel(item.id, to: "ben")
      try await office.round()
      #expect(try ben.items.items().count == 1 && ada.messages.outbox().parcels.isEmpty)
    }

    @Test func `an item whose key a peer doesn't hold is refused by parcel, and its sender hears of it`() async throws {
      let item = try await add([1, 2, 3])
      _ = try ada.items.sendItemByParcel(item.id, to: "cleo")
      try await office.round()
      #expect(try cleo.items.items().isEmpty)
      #expect(try ada.messages.outbox().parcels.isEmpty)
      #expect(try ada.overview.log(limit: 5).contains { $0.event == "delivery-failed" && $0.peer == "cleo" })
    }

    @Test func `an item that is too large for a parcel waits for a session`() async throws {
      let item = try await add(randomBytes(Int(SecretVault.Items.parcelItemLimit) + 1))
      let error = await refusal { _ = try ada.items.sendItemByParcel(item.id, to: "ben") }
      #expect(error?.code == .refused)
      #expect(try ada.messages.outbox().parcels.isEmpty)
    }
  }
}
