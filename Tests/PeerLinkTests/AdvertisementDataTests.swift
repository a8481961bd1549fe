import PeerAuth
import Testing

@testable import PeerLink

@Suite("Advertisements")
struct AdvertisementDataTests {
  private let tag = BeaconTag([1, 2, 3, 4, 5, 6, 7, 8])

  @Test("what a vault shows has room beside the kernel's flags, and is read again")
  func ours() throws {
    let tag = try #require(tag)
    let bytes = AdvertisementData.advertisement(of: tag)
    #expect(bytes.count == 26)
    #expect(bytes.count + 3 <= 31)
    #expect(AdvertisementData.scanResponse.count == 18)
    let heard = try AdvertisementData(bytes: [2, 1, 6] + bytes + AdvertisementData.scanResponse)
    #expect(heard.tag == tag)
    #expect(heard.services == [VaultService.uuid])
  }

  @Test("the bytes are those of the format")
  func walkedExample() throws {
    let tag = try #require(tag)
    #expect(
      AdvertisementData.advertisement(of: tag) == [
        0x19, 0x21, 0x17, 0x54, 0xBA, 0xCF, 0xDC, 0x93, 0x7D, 0x8E, 0x9C, 0x49, 0x3D, 0xF3, 0xD0, 0x3F, 0x6F, 0x22,
        1, 2, 3, 4, 5, 6, 7, 8,
      ])
    #expect(VaultService.uuid.count == 16)
    #expect((0x80...0xFF).contains(VaultService.channel))
  }

  // Recorded in a guest with two virtual controllers: kernel 6.1, what one heard of the other.
  @Test("an advertisement that the kernel passed on is understood")
  func recorded() throws {
    let bytes = try hexadecimal(
      "02010619211754bacfdc937d8e9c493df3d03f6f22000102030405060711071754bacfdc937d8e9c493df3d03f6f22")
    #expect(try AdvertisementData(bytes: bytes).tag?.bytes == Array(0..<8))
  }

  @Test("other parts are passed over, and what follows the end is filling")
  func others() throws {
    let list = VaultService.uuid.reversed()
    let heard = try AdvertisementData(bytes: [3, 9, 65, 66, 1, 0xFF, 33, 6] + [UInt8](repeating: 7, count: 16) + list)
    #expect(heard.services == [[UInt8](repeating: 7, count: 16), VaultService.uuid])
    #expect(heard.tag == nil)
    #expect(try AdvertisementData(bytes: [3, 9, 65, 66, 0, 200, 1]).serviceData.isEmpty)
    #expect(try AdvertisementData(bytes: []).services.isEmpty)
  }

  @Test(
    "broken ones are refused",
    arguments: [
      [5], [5, 9, 1], [3, 0x21, 1, 2], [16, 0x07] + [UInt8](repeating: 1, count: 15),
      [UInt8](repeating: 0, count: 1906), [255] + [UInt8](repeating: 1, count: 254),
    ])
  func broken(bytes: [UInt8]) {
    #expect(throws: AdvertisementData.Fault.self) { try AdvertisementData(bytes: bytes) }
  }

  @Test("data of the service that is no tag is none", arguments: [0, 7, 9])
  func otherLength(count: Int) throws {
    let part = [UInt8(17 + count), 0x21] + VaultService.uuid.reversed() + [UInt8](repeating: 1, count: count)
    let heard = try AdvertisementData(bytes: part)
    #expect(heard.serviceData.count == 1)
    #expect(heard.tag == nil)
  }

  @Test("addresses are read and written as people do")
  func addresses() throws {
    let address = try #require(BLEAddress("00:aa:01:00:00:2F", .random))
    #expect(address.bytes == [0x2F, 0, 0, 1, 0xAA, 0])
    #expect(address.description == "00:AA:01:00:00:2F")
    for text in [
      "", "00:AA:01:00:00", "00:AA:01:00:00:0", "00:AA:01:00:00:00:00", "0+:AA:01:00:00:00", "00-AA-01-00-00-00",
    ] {
      #expect(BLEAddress(text, .public) == nil, "\(text)")
    }
    #expect(BLEAdapterChoice("all") == .all)
    #expect(BLEAdapterChoice("hci12") == .name("hci12"))
    #expect(BLEAdapterChoice("00:aa:01:00:00:2f") == .address("00:AA:01:00:00:2F"))
    for text in ["", "hci", "hci12345", "hcix", "eth0"] {
      #expect(BLEAdapterChoice(text) == nil, "\(text)")
      #expect(throws: BLEError.badChoice(text)) { try BLEAdapterChoice(setting: text) }
    }
  }
}

/// Bytes of a hexadecimal text.
func hexadecimal(_ text: String) throws -> [UInt8] {
  let digits = Array(text.utf8)
  return try stride(from: 0, to: digits.count, by: 2).map { place in
    try #require(UInt8(String(decoding: digits[place..<min(place + 2, digits.count)], as: UTF8.self), radix: 16))
  }
}
