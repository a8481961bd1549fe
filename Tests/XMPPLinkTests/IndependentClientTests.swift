import ChatServers
import Foundation
import Glibc
import Testing

@testable import XMPPLink
@testable import XMPPRequests

extension ServerTests {
  @Suite(
    .enabled(if: ChatServer.isAvailable, chatServerReason),
    .enabled(if: IndependentClient.isAvailable, "slixmpp isn't installed"), .serialized, .timeLimit(.minutes(10)))
  struct IndependentClientTests {
    @Test(arguments: ChatServer.Kind.allCases)
    func `slixmpp talks with this client, and parcels survive both ways`(_ kind: ChatServer.Kind) async throws {
      let server = try ChatServer.shared(kind)
      let ada = try await server.newConnection("ada")
      let bob = try await server.newConnection("bob")
      bob.connection.logout()
      _ = try await bob.end()

      let other = try IndependentClient(address: bob.address, name: bob.name, on: server)
      defer { other.kill() }

      try await ada.connection.send("hello <&> é", to: bob.address, id: "first")
      #expect(try await ada.message("hello <&> é to you").from.bare == bob.address)
      #expect(try await ada.receipt("first").bare == bob.address)

      let bytes = (0..<150_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
      try bytes.withUnsafeBytes { try Data($0).write(to: URL(fileURLWithPath: server.folder + "/parcel")) }
      let hash = try ChatServer.run("/usr/bin/sha256sum", [server.folder + "/parcel"]).prefix(64)
      try await ada.connection.send(parcel: bytes, to: bob.address, id: "p-1")
      _ = try await ada.message("p-1 \(hash)")
      #expect(try await ada.parcel("back") == bytes)

      let carriage = try #require(XMPPCarriage(branch: 3, hops: 8))
      try await ada.connection.send(parcel: [1, 2, 3], to: bob.address, id: "p-2", carriage: carriage)
      let back = try await ada.wait("what was carried") { event -> XMPPCarriage? in
        if case .parcel(let part) = event { part.carriage } else { nil }
      }
      #expect(back == carriage)
    }
  }
}
