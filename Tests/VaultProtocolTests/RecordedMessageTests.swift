import Foundation
import Sodium
import Testing
import WireCodec

@testable import VaultProtocol

/// `Recorded/messages.txt` has messages as earlier versions have written them: a number of four digits and the body. Lines are added
/// and never changed; one that can't be read any more is a message that peers of the last version send. The releases, which carry
/// shares and are written by hand, stand in the examples of the format's pages instead.
@Suite("Messages as earlier versions wrote them")
struct RecordedMessageTests {
  private struct Recorded {
    let type: UInt16
    let body: [UInt8]
  }

  private func recorded() throws -> [Recorded] {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Recorded/messages.txt")
    return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map { line in
      let words = line.split(separator: " ")
      return Recorded(
        type: try #require(words.first.flatMap { UInt16($0, radix: 16) }),
        body: try #require(bytes(hexadecimal: String(words.dropFirst().first ?? ""))))
    }
  }

  private func again<Message: PeerMessage>(_: Message.Type, _ body: [UInt8]) throws -> [UInt8] {
    try Message.decode(body, limit: Message.type.byteLimit).encoded()
  }

  @Test("are read, and written again byte for byte")
  func read() throws {
    var types: [UInt16: any PeerMessage.Type] = [:]
    for message in try sampleMessages() { types[type(of: message).type.rawValue] = type(of: message) }
    for message in try recorded() {
      let type = try #require(types[message.type], "no message has the number \(message.type) any more")
      #expect(try again(type, message.body) == message.body, "\(type)")
    }
  }

  @Test("are there of every type; what is missing stands in the failure, ready to be added")
  func complete() throws {
    let known = Set(try recorded().map(\.type))
    for message in try sampleMessages() where !known.contains(type(of: message).type.rawValue) {
      let number = String(type(of: message).type.rawValue, radix: 16)
      let line = String(repeating: "0", count: 4 - number.count) + number + " " + hexadecimal(try message.encoded())
      Issue.record("to be recorded: \(line)")
    }
  }
}
