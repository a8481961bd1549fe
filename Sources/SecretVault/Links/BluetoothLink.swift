import Concurrency
import PeerAuth

/// For peers in the room whose cards came with a beacon key, if the user wants it.
struct BluetoothLink: Link {
  func leads(to recipient: Recipient) -> Bool { recipient.nearby != nil }

  func refusal(of byteCount: UInt64, to recipient: Recipient) -> LinkFailure? {
    guard let limit = recipient.nearby?.byteLimit, byteCount > limit else { return nil }
    return .tooLargeForBluetooth(byteCount, limit: limit)
  }

  func open(_ opening: Opening) async throws(LinkFailure) -> Conversation {
    let environment = opening.environment
    guard let nearby = opening.recipient.nearby, let connect = environment.connectNearby else {
      throw LinkFailure(.local, "Bluetooth can't be used here")
    }
    do {
      return try await opening.session(at: "Bluetooth", within: environment.deadlines.nearby, nearby.byteLimit) {
        () async throws(TransportError) in
        let transport: any PeerTransport
        do throws(TransportError) {
          transport = try await withDeadline(.zero, sleeper: { _ in try await nearby.untilUnwanted() }) {
            () async throws(TransportError) in try await connect(nearby)
          }
        } catch {
          throw nearby.isWanted() ? error : .unreachable(SwitchedTransport.reason)
        }
        return SwitchedTransport(transport, until: nearby.untilUnwanted)
      }
    } catch {
      // Anybody can repeat a tag that was heard: somebody else's misbehaviour isn't the peer's.
      guard error.kind != .misbehaved else {
        throw LinkFailure(.unreachable, "unreachable: somebody else shows its tag, or its keys have changed")
      }
      throw error
    }
  }
}
