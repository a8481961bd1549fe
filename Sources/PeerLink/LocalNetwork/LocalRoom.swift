import Concurrency
package import LocalNames
package import PeerAuth
import Synchronization

/// Who offers what on the networks of this device, as it is heard, and where calls led to no session. Anybody can make offers up, and repeat a tag
/// that was heard: so only so many offers are kept, calls at them are few, and a place is left alone for a while unless a session came about.
package final class LocalRoom: Sendable {
  /// Offers that are kept; when there are more, those go that were heard longest ago.
  static let limit = 256
  /// Places that are called for one peer at a time.
  static let placeLimit = 4
  /// Calls at places, of whichever peers.
  static let callsAtOnce = 12
  static let callsPerMinute = 12
  /// Milliseconds for which a place is left alone after a call that led to no session.
  static let doubt: Int64 = 60_000

  /// Several people may sit behind one address, at ports of their own.
  private struct Spot: Hashable {
    let address: LocalAddress
    let port: UInt16
  }

  private struct Place {
    var sighting: LocalSighting
    let tag: BeaconTag
    var heardAt: UInt64
  }

  private struct State {
    var places: [LocalSighting.Key: Place] = [:]
    var count: UInt64 = 0
    var calledAt: [Spot: Int64] = [:]
    var allowance = Allowance(atOnce: LocalRoom.callsAtOnce, perMinute: LocalRoom.callsPerMinute)
  }

  private let state = Mutex(State())
  /// Struck when somebody is heard.
  let pulse = Pulse()

  package init() {}

  var count: Int { state.withLock { $0.places.count } }

  package func note(_ event: LocalEvent) {
    switch event {
    case .gone(let key): state.withLock { $0.places[key] = nil }
    case .heard(let sighting):
      guard let tag = LocalTag.tag(in: sighting.texts), sighting.port > 0 else { return }
      state.withLock { state in
        state.count += 1
        if state.places[sighting.key] == nil, state.places.count >= Self.limit,
          let oldest = state.places.min(by: { $0.value.heardAt < $1.value.heardAt })
        {
          state.places[oldest.key] = nil
        }
        // Whatever else is said there isn't kept: Avahi passes on as much as somebody likes to say.
        let place = LocalSighting(key: sighting.key, port: sighting.port, texts: [])
        state.places[sighting.key] = Place(sighting: place, tag: tag, heardAt: state.count)
      }
      pulse.strike()
    }
  }

  /// Nobody is heard any more.
  package func clear() { state.withLock { $0.places = [:] } }

  /// The tags that are shown just now.
  package var tags: Set<BeaconTag> { state.withLock { Set($0.places.values.map(\.tag)) } }

  /// Where one of these tags is shown: a few places, by chance where there are more, none twice.
  func places(of tags: Set<BeaconTag>, at now: Int64) -> [LocalSighting] {
    let all = state.withLock { state in
      state.places.values.filter { place in
        guard tags.contains(place.tag) else { return false }
        return state.calledAt[Spot(address: place.sighting.key.address, port: place.sighting.port)].map {
          now - $0 >= Self.doubt
        } ?? true
      }
    }
    var found: [LocalSighting] = []
    for place in all.shuffled() {
      let (address, port) = (place.sighting.key.address, place.sighting.port)
      guard found.count < Self.placeLimit, !found.contains(where: { $0.key.address == address && $0.port == port })
      else { continue }
      found.append(place.sighting)
    }
    return found
  }

  /// Whether a place may be called. It is doubted from then on.
  func beginCall(_ address: LocalAddress, _ port: UInt16, at now: Int64) -> Bool {
    state.withLock { state in
      state.calledAt = state.calledAt.filter { now - $0.value < Self.doubt }
      guard state.allowance.take(at: now) else { return false }
      state.calledAt[Spot(address: address, port: port)] = now
      return true
    }
  }

  /// The peer was there: a call that led to it is none of those that are counted.
  func reached(_ address: LocalAddress, _ port: UInt16) {
    state.withLock { state in
      if state.calledAt.removeValue(forKey: Spot(address: address, port: port)) != nil { state.allowance.giveBack() }
    }
  }
}
