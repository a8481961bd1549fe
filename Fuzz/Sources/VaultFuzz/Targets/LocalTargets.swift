import Sodium
import WireCodec

@testable import SystemBus
@testable import VaultDaemon

/// What other processes of this machine say: commands to the agent, the agent to commands, and the system's bus.
enum LocalTargets {
  static let all = [
    FuzzTarget("agent-request", upTo: 200) { bytes in
      let request = try AgentRequest(message: bytes.span.bytes)
      require(bytes.count <= AgentMessage.requestLimit, "a request keeps to its limit")
      try requireSame(bytes, hasKey: request.hasKey) { key in try request.message(key: key) }
      return true
    },
    FuzzTarget("agent-answer", upTo: 2000) { bytes in
      let answer = try AgentAnswer(message: bytes.span.bytes)
      require(bytes.count <= AgentMessage.answerLimit, "an answer keeps to its limit")
      try requireSame(bytes, hasKey: answer.hasKey) { key in try answer.message(key: key) }
      return true
    },
    FuzzTarget("bus-message", upTo: 5000) { bytes in
      let message = try BusMessage(bytes: bytes)
      require(message.body.count <= BusMessage.valueLimit, "a body keeps to its limit")
      // Others may order the fields as they like; from here on there is one form.
      let again = message.encoded()
      require((try? BusMessage(bytes: again)) == message, "a message reads itself")
      return true
    },
    FuzzTarget("bus-address", upTo: 5000) { bytes in
      guard let paths = BusAddress.paths(String(decoding: bytes, as: UTF8.self)) else { return false }
      require(
        paths.allSatisfy { $0.utf8.first == UInt8(ascii: "/") && !$0.utf8.contains(0) }, "a place is an absolute path")
      return true
    },
  ]

  /// Makes the message again with the key that lies in it.
  private static func requireSame(
    _ bytes: [UInt8], hasKey: Bool, _ make: (borrowing SecretBytes?) throws -> SecretBytes
  ) throws {
    let whole = try SecretBytes(copying: bytes.span.bytes)
    let key: SecretBytes? = hasKey ? try AgentMessage.key(in: whole) : nil
    let again = try make(key)
    require(again.matches(whole), "a message encodes to the bytes it was read from")
  }
}
