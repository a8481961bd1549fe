import Foundation
import GroupLink
import HTTPLink
import Grouper
import Sodium

/// An object of the tests.
struct Entry: GroupObject {
  var objectID: String
  var text: String
}

/// A member's device as a process of its own, which tests kill. Keeps its database in a folder, takes commands from standard input, a
/// line each, and answers each with a line when what it says is durable:
///
///     request          request HEX
///     accept HEX       accepted
///     write ID         kept ID
///     sync             synced
///     list             objects ID,ID…
///
/// or `failed` with a reason. Ends with the input.
@main
struct GroupDevice {
  static func main() async throws {
    let folder = CommandLine.arguments[1]
    let store = try GroupStore(path: folder + "/group.db", sealer: KeyFileSealer(path: folder + "/group.key"))
    let (grouper, objects) = try await Grouper.setup(
      applicationID: "figures", entities: [Entry.self], store: store,
      connector: GroupServerConnections(HTTPConnections()))
    while let line = readLine() {
      let words = line.split(separator: " ", maxSplits: 1).map(String.init)
      do {
        answer(try await run(words[0], words.count > 1 ? words[1] : "", grouper, objects))
      } catch {
        answer("failed \(error)")
      }
    }
  }

  private static func run(
    _ command: String, _ argument: String, _ grouper: Grouper, _ objects: CodableStore
  ) async throws -> String {
    switch command {
    case "request":
      return "request " + hexadecimal(try await grouper.joinRequest(email: "", name: "device").bytes)
    case "accept":
      let digits = Array(argument.utf8)
      guard let bytes = try HexText.decode(digits.span.bytes) else { return "failed" }
      try await grouper.accept(Invitation(bytes.withUnsafeBytes { Array($0) }))
      return "accepted"
    case "write":
      try await grouper.sender.update(Entry(objectID: argument, text: "by the device"))
      return "kept \(argument)"
    case "sync":
      _ = try await grouper.sync()
      return "synced"
    case "list":
      return "objects " + (try objects.objects(Entry.self).map(\.objectID).sorted().joined(separator: ","))
    default: return "failed"
    }
  }

  private static func answer(_ line: String) {
    FileHandle.standardOutput.write(Data((line.replacing("\n", with: " ") + "\n").utf8))
  }
}
