import ChatServers
import Foundation
import Glibc
import Synchronization
import Testing

/// Homes that were made once by the program itself and are copied for each test: of people who know one another, every one with
/// keys of their own. What makes them is tested from nothing elsewhere, by whoever calls ``Peer/initialise(_:)`` and adds cards.
///
/// Those of one place for benches know one another by the addresses of that place.
enum HomeTemplates {
  private struct Template {
    let folder: String
    /// Where each listens.
    let ports: [Int]
  }

  private static let templates = Mutex<[String: Template]>([:])

  /// A folder that is gone when this process ends, however it does: a shell removes it when its standard input is closed.
  private static let folder = Result {
    var template = Array((FileManager.default.temporaryDirectory.path + "/vault-homes-XXXXXX").utf8CString)
    _ = try #require(mkdtemp(&template))
    let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let warden = try Child(
      Child.Start(
        program: "/bin/sh", arguments: ["-c", "cat >/dev/null; rm -rf -- \"$1\"", "sh", folder],
        environment: Bench.environment, folder: "/", input: .pipe, outputPath: "/dev/null",
        complaintPath: "/dev/null"))
    return (folder, warden)
  }

  /// Gives each of them a home; they have all added one another's cards, and will listen where these say.
  static func furnish(_ peers: [Peer], _ bench: Bench, _ location: SourceLocation) async throws {
    let key = ([String(bench.slot)] + peers.map(\.name)).joined(separator: "-")
    if let template = templates.withLock({ $0[key] }) {
      for (peer, port) in zip(peers, template.ports) {
        try FileManager.default.copyItem(atPath: template.folder + "/" + peer.name, toPath: peer.home)
        if peers.count > 1 { peer.listens(at: port) }
      }
      return
    }
    if peers.count > 1 { for peer in peers { peer.listens(at: try Loopback.freePort(of: bench.host)) } }
    var cards: [String] = []
    for peer in peers {
      try await peer.initialise(location)
      if peers.count > 1 { cards.append(try await peer.card(location)) }
    }
    for (number, peer) in peers.enumerated() {
      for (other, card) in cards.enumerated() where other != number {
        try await peer.succeed("peer", "add", card, at: location)
      }
    }
    let template = Template(folder: try folder.get().0 + "/" + key, ports: peers.map(\.daemonPort))
    try FileManager.default.createDirectory(atPath: template.folder, withIntermediateDirectories: false)
    for peer in peers {
      try FileManager.default.copyItem(atPath: peer.home, toPath: template.folder + "/" + peer.name)
    }
    templates.withLock { $0[key] = template }
  }
}
