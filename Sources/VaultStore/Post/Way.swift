/// A way by which a parcel may travel. The list has them in the order in which they are tried; its numbers stand in rows.
package enum Way: UInt8, Hashable, Sendable, CaseIterable {
  /// In a session with the peer.
  case session = 1
  /// By this device's account on a server.
  case account = 2
  /// Through a group's servers.
  case group = 4
  /// By others' devices.
  case carriers = 8

  /// As it is noted with a message, and told in JSON.
  package var name: String { "\(self)" }

  /// Whether servers see the parcel: those who want none leave it out, and what costs other people something comes behind it.
  package var usesServers: Bool { self == .account || self == .group }
}

extension ParcelRecord {
  /// Ways by which a parcel may go.
  package struct Ways: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package init(_ ways: [Way]) { rawValue = ways.reduce(0) { $0 | $1.rawValue } }

    package static let all = Ways(Way.allCases)

    package func contains(_ way: Way) -> Bool { rawValue & way.rawValue != 0 }

    /// Whether servers are among them.
    package var hasServers: Bool { Way.allCases.contains { $0.usesServers && contains($0) } }
  }
}
