import PeerAuth

@testable import LocalNames
@testable import PeerLink

/// What anybody in the room, or on the same network, may send, and what the kernel makes of it.
enum BluetoothTargets {
  static let all = [
    FuzzTarget("advertisement", upTo: 2000) { bytes in
      let heard = try AdvertisementData(bytes: bytes)
      require(bytes.count <= AdvertisementData.byteLimit, "an advertisement keeps to its limit")
      require(heard.services.allSatisfy { $0.count == 16 }, "a service's UUID has 16 bytes")
      require(heard.serviceData.keys.allSatisfy { $0.count == 16 }, "so has that of its data")
      guard let tag = heard.tag else { return true }
      let again = try AdvertisementData(bytes: AdvertisementData.advertisement(of: tag))
      require(again.tag == tag, "a tag is advertised as it was heard")
      return true
    },
    FuzzTarget("dns-message", upTo: 9100) { bytes in
      let message = try DNSMessage(bytes)
      require(bytes.count <= DNSMessage.byteLimit, "a message keeps to its limit")
      let entries = message.questions.count + message.answers.count + message.additionals.count
      require(entries <= DNSMessage.entryLimit, "so do its entries")
      // Others may point where they like; from here on there is one form, which is no longer.
      let again = (try? message.encoded()) ?? []
      require(again.count <= bytes.count, "what was read is written as short")
      require((try? DNSMessage(again)) == message, "a message reads itself")
      for record in message.answers + message.additionals {
        guard case .texts(let texts) = record.data, let tag = LocalTag.tag(in: texts) else { continue }
        require(LocalTag.tag(in: LocalTag.texts(tag)) == tag, "a tag is offered as it was heard")
      }
      return true
    },
    FuzzTarget("adapter-event", upTo: 5000) { bytes in
      let event = try ManagementEvent(bytes: bytes)
      require(bytes.count <= ManagementEvent.byteLimit, "an event keeps to its limit")
      switch event.content {
      case .found(let address, _, let data):
        require(BLEAddress(address.description, address.kind) == address, "an address reads itself")
        require(data.count < bytes.count, "data lie within the event")
        _ = try? AdvertisementData(bytes: data)
      case .answer(_, _, let result):
        if let adapters = try? ManagementResult.adapters(result) { require(adapters.count <= 32, "adapters are few") }
        _ = try? ManagementResult.adapter(1, result)
        if let taken = try? ManagementResult.advertising(result).taken {
          require(taken.count < 256, "so are instances")
        }
      default: break
      }
      return true
    },
    FuzzTarget("adapter-name", upTo: 200) { bytes in
      let text = String(decoding: bytes, as: UTF8.self)
      if let address = BLEAddress(text, .public) {
        require(address.description == text.uppercased(), "an address is written as it was read")
      }
      return BLEAdapterChoice(text) != nil
    },
  ]
}
