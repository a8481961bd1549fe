import Foundation
import Testing

/// A running `vault-server` of a test.
struct ShareServer {
  let child: Child
  /// Its URL.
  let address: String
  private let folder: String

  /// Starts one on a free port of the bench's own address.
  init(_ bench: Bench, _ options: String...) async throws {
    let folder = "\(bench.folder)/server-\(UUID())"
    let child = try bench.start(
      Bench.vaultServer,
      ["--listen", "\(bench.host):0", "--data", folder, "--log-level", "critical"] + options)
    var place: String?
    try await bench.wait(for: "a server to listen") {
      place = (child.written.firstMatch(of: /listening on ([0-9.:]+)\n/)?.1).map { String($0) }
      try #require(child.isRunning, "vault-server: \(child.written)")
      return place != nil
    }
    self.child = child
    self.folder = folder
    address = (options.contains("--tls-certificate") ? "https://" : "http://") + (try #require(place))
  }

  var port: Int { address.split(separator: ":").last.flatMap { Int($0) } ?? 0 }

  static func three(_ bench: Bench) async throws -> [ShareServer] {
    [try await ShareServer(bench), try await ShareServer(bench), try await ShareServer(bench)]
  }

  /// Whether any of its files has these bytes.
  func holds(_ text: String) -> Bool {
    let files = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
    return files.contains { file in
      let data = FileManager.default.contents(atPath: folder + "/" + file)
      return data?.range(of: Data(text.utf8)) != nil
    }
  }
}

extension [ShareServer] {
  /// As arguments of a command.
  var options: [String] { flatMap { ["--server", $0.address] } }
}
