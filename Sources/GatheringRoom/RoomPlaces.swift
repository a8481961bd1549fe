package import Concurrency
package import LocalNames
import Synchronization

/// How guests find an opener on the same network: by multicast DNS, with the code's number, which is no secret.
package enum RoomPlaces {
  package static let service = LocalServiceType("vault-meet")
  /// Offers that are taken of one address, and in all: who offers a thousand hides nobody.
  private static let perAddress = 2
  private static let limit = 64
  private static let key = Array("n=".utf8)

  /// What an opener's offer says.
  package static func texts(_ number: UInt16) -> [[UInt8]] { [key + Array("\(number)".utf8)] }

  /// Whether an offer is of an opening with this number.
  static func isMeant(_ number: UInt16, in texts: [[UInt8]]) -> Bool { texts == self.texts(number) }

  /// Offers an opening until `stop`, by a thread of its own; why it can't be, or not any more.
  package static func offer(_ number: UInt16, port: UInt16, until stop: StopSignal) async -> LocalNamesError? {
    let offer = LocalOffer(port: port, texts: texts(number))
    return await WaitingThread.runAlone { () -> LocalNamesError? in
      do throws(LocalNamesError) {
        try LocalWay.find().run(offer, type: service, until: stop, ready: {}, heard: { _ in })
        return nil
      } catch { return error }
    } ?? .failed("no thread is left")
  }

  /// Places where openings with this number are offered, until `stop`. The stream ends early where nobody can look, and
  /// `failed` is told why.
  package static func find(
    _ number: UInt16, until stop: StopSignal, failed: @escaping @Sendable (LocalNamesError) -> Void
  ) -> AsyncStream<LocalSighting> {
    let (places, found) = AsyncStream.makeStream(of: LocalSighting.self, bufferingPolicy: .bufferingOldest(limit))
    let hasBegun = BackgroundThread.start {
      var seen: Set<LocalSighting.Key> = []
      do throws(LocalNamesError) {
        try LocalWay.find().run(nil, type: service, until: stop, ready: {}) { event in
          guard case .heard(let sighting) = event, isMeant(number, in: sighting.texts), sighting.port > 0,
            seen.count < limit, seen.count(where: { $0.address == sighting.key.address }) < perAddress,
            seen.insert(sighting.key).inserted
          else { return }
          found.yield(sighting)
        }
      } catch { failed(error) }
      found.finish()
    }
    if !hasBegun {
      failed(.failed("no thread is left"))
      found.finish()
    }
    return places
  }
}
