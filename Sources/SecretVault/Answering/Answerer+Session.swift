import VaultProtocol

extension Answerer {
  mutating func carryOut(_ request: SessionAnswerer.Request) async throws {
    switch request {
    case .hello(let hello):
      greeting = hello
      try await reply(
        Hello(services: peer.introducer == nil ? room.introductions.services : Introductions.introducedServices))
    case .ping(let ping): try await reply(Pong(request: ping.request))
    }
  }
}
