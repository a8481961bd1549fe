@testable import SecretVault
import Sodium
@testable import VaultProtocol
import WireCodec

/// Items: their headers, their text forms, and what a list says of them.
enum ItemTargets {
  static let all = [
    FuzzTarget("item-header", upTo: 10_000) { bytes in
      let header = try ItemHeader.parse(beginningOf: bytes)
      let front = Array(bytes.prefix(header.encodedByteCount))
      require(encoding(of: header) == front, "an item's header encodes to the bytes it was read from")
      require(front.count <= ItemHeader.byteLimit, "an item's header keeps to its limit")
      require(header.itemByteCount > header.ciphertextByteCount, "an item is longer than its ciphertext")
      let key = try secret(many(7, 32))
      do throws(SodiumError) { _ = try ItemKeys.streamKey(of: header, key: key) } catch {
        require(error == .smallOrderKey, "every header leads to a key: \(error)")
      }
      return true
    },
    FuzzTarget("item-text", upTo: 5000) { bytes in
      guard let text = String(validating: bytes, as: UTF8.self) else { return false }
      let item = try ItemText.parse(text)
      let again = ItemText.text(of: item)
      require(text.uppercased().contains(again), "an item has one text")
      return ItemText.isItem(again)
    },
    // A checksum that fits, so that the bytes behind it are reached.
    FuzzTarget("item-text-checksum", upTo: 2500) { bytes in
      let item = try ItemText.parse(ItemText.text(of: bytes))
      require(item == bytes, "a text is read as it was written")
      return true
    },
    FuzzTarget("item-armor", upTo: 140_000) { bytes in
      let armored = ItemArmorInput(PrefixedInput(bytes, nil), name: "item")
      let plain = try armored.bytes(upTo: 140_000)
      var writer = ItemArmorWriter()
      let text = plain.withUnsafeBytes { writer.append($0) } + writer.finish()
      let again = ItemArmorInput(PrefixedInput(text, nil), name: "item")
      let read = prepared { try again.bytes(upTo: 140_001) }
      require(read == plain, "an armor is read as it was written")
      return true
    },
    FuzzTarget("item-label", upTo: 3000) { bytes in
      _ = try canonical(ItemLabel.self, bytes, limit: ItemLabel.byteLimit)
      return true
    },
  ]
}
