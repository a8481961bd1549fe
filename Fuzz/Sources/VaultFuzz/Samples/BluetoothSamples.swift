import PeerAuth

@testable import LocalNames
@testable import PeerLink

enum BluetoothSamples {
  static func all() throws -> [Sample] {
    guard let tag = BeaconTag([1, 2, 3, 4, 5, 6, 7, 8]) else { return [] }
    let shown = AdvertisementData.advertisement(of: tag)
    let heard = [2, 1, 6] + shown + AdvertisementData.scanResponse
    let found =
      [0x12, 0, 1, 0, UInt8(14 + heard.count), 0, 0, 0, 0, 1, 0xAA, 0, 1, 0xC4, 0, 0, 0, 0, UInt8(heard.count), 0]
      + heard
    let answer: [UInt8] = [1, 0, 0xFF, 0xFF, 9, 0, 3, 0, 0, 2, 0, 1, 0, 0, 0]
    let header: [UInt8] = [0, 0, 0x84, 0, 0, 0, 0, 1, 0, 0, 0, 0]
    let question = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0] + [5] + Array("local".utf8) + [0, 0, 12, 0, 1]
    let texts = LocalTag.texts(tag)[0]
    let record = [1, 97, 0, 0, 16, 0, 1, 0, 0, 0, 120, 0, UInt8(1 + texts.count), UInt8(texts.count)] + texts
    return Sample.of(
      "dns-message",
      [
        "valid-question": question, "valid-tag": header + record, "valid-nothing": header.with(7, [0]),
        "valid-service": header + [0, 0, 33, 0x80, 1, 0, 0, 0, 120, 0, 9, 0, 0, 0, 0, 0x12, 0x71, 1, 97, 0],
        "valid-address": header + [0, 0, 1, 0, 1, 0, 0, 0, 120, 0, 4, 192, 0, 2, 7],
        "valid-other-type": header + [0, 0, 47, 0, 1, 0, 0, 0, 120, 0, 2, 9, 9],
        "valid-pointer": header + [0, 0, 12, 0, 1, 0, 0, 0, 120, 0, 4, 1, 97, 0xC0, 12],
        "pointer-to-itself": header + [0xC0, 12] + record.dropFirst(3), "pointer-ahead": header + [0xC0, 40],
        "pointer-into-header": header + [0xC0, 2] + record.dropFirst(3), "long-label": question.with(12, [64]),
        "cut": (header + record).without(last: 1), "longer": question + [0], "too-many": header.with(6, [2, 0]),
        "short-address": header + [0, 0, 1, 0, 1, 0, 0, 0, 120, 0, 3, 192, 0, 2],
        "empty-texts": header + [0, 0, 16, 0, 1, 0, 0, 0, 120, 0, 0], "other-kind": question.with(2, [0x28]),
        "text-too-long": (header + record).with(header.count + 13, [200]), "too-long": many(0, 9001), "empty": [],
      ])
      + Sample.of(
        "advertisement",
        [
          "valid-vault": shown, "valid-heard": heard, "valid-empty": [], "valid-filled": heard + many(0, 20),
          "valid-name": [3, 9, 65, 66], "valid-other-data": [17, 0x21] + many(3, 16), "cut": shown.without(last: 1),
          "short-data": [16, 0x21] + many(3, 15), "odd-list": [16, 7] + many(3, 15), "too-long": many(0, 1906),
          "length-only": [7],
        ])
      + Sample.of(
        "adapter-event",
        [
          "valid-found": found, "valid-answer": answer, "valid-refused": [2, 0, 0, 0, 3, 0, 0x3D, 0, 0x14],
          "valid-removed": [5, 0, 1, 0, 0, 0], "valid-settings": [6, 0, 1, 0, 4, 0, 0, 10, 0, 0],
          "valid-discovering": [0x13, 0, 1, 0, 2, 0, 6, 1], "valid-other": [0x23, 0, 0, 0, 1, 0, 1],
          "cut": found.without(last: 1), "longer": found + [0], "other-length": found.with(18, [200]), "empty": [],
          "no-status": [2, 0, 0, 0, 2, 0, 0x3D, 0],
        ])
      + Sample.of(
        "adapter-name",
        texts: [
          "valid-all": "all", "valid-name": "hci0", "valid-address": "00:aa:01:00:00:2F", "empty": "",
          "no-number": "hci",
          "long-number": "hci12345", "five-bytes": "00:AA:01:00:00", "sign": "+0:AA:01:00:00:00", "other": "eth0",
        ])
  }
}
