import Foundation
import ShamirKit
import Sodium
import Testing
import WireCodec

@testable import VaultDaemon

@Suite("What agent and commands say to each other")
struct AgentMessagesTests {
  static let id = try? SecretID([UInt8](0xA0...0xAF))
  static let other = try? SecretID([UInt8](0x10...0x1F))

  private func id() throws -> SecretID { try #require(Self.id) }

  private func key() throws -> SecretBytes {
    try SecretBytes(copying: [UInt8](0x00...0x1F).span.bytes)
  }

  private func requests() throws -> [AgentRequest] {
    let id = try id()
    return [
      .status, .keepPassphrase, .passphrase, .keepSecret(id, byteCount: 1040), .fileKey(id), .secret(id), .lock(id),
      .lockAll,
    ]
  }

  private func answers() throws -> [AgentAnswer] {
    let entries = [
      AgentStatus.Entry(id: try id(), remaining: 0),
      AgentStatus.Entry(id: try #require(Self.other), remaining: 599_000),
    ]
    return [
      .status(AgentStatus(timeout: 600_000, passphrase: 1000, secrets: entries)),
      .status(AgentStatus(timeout: 0, passphrase: nil, secrets: [])), .done, .key, .secret(byteCount: 1040), .locked,
      .refused(.full), .refused(.sleeping), .refused(.noTimeout),
    ]
  }

  private func message(_ request: AgentRequest) throws -> [UInt8] {
    let key: SecretBytes? = request.hasKey ? try key() : nil
    let message = try request.message(key: key)
    return message.withUnsafeBytes { Array($0) }
  }

  private func message(_ answer: AgentAnswer) throws -> [UInt8] {
    let key: SecretBytes? = answer.hasKey ? try key() : nil
    let message = try answer.message(key: key)
    return message.withUnsafeBytes { Array($0) }
  }

  private func request(_ bytes: [UInt8]) throws -> AgentRequest { try AgentRequest(message: bytes.span.bytes) }
  private func answer(_ bytes: [UInt8]) throws -> AgentAnswer { try AgentAnswer(message: bytes.span.bytes) }

  private func keyLies(in bytes: [UInt8]) throws -> Bool {
    let message = try SecretBytes(copying: bytes.span.bytes)
    let found = try AgentMessage.key(in: message)
    return found.matches(try key())
  }

  @Test("every message reads itself, within its limit, and its key lies where it should")
  func roundTrips() throws {
    for request in try requests() {
      let message = try message(request)
      #expect(try self.request(message) == request)
      #expect(message.count <= AgentMessage.requestLimit)
      if request.hasKey {
        #expect(try keyLies(in: message))
      }
    }
    for answer in try answers() {
      let message = try message(answer)
      #expect(try self.answer(message) == answer)
      #expect(message.count <= AgentMessage.answerLimit)
      if answer.hasKey {
        #expect(try keyLies(in: message))
      }
    }
  }

  @Test("the longest messages are as long as the limits say")
  func limits() throws {
    #expect(try message(.keepSecret(id(), byteCount: .max)).count == AgentMessage.requestLimit)
    let entries = try (0..<AgentMessage.secretLimit).map {
      AgentStatus.Entry(id: try SecretID([UInt8](repeating: 0, count: 15) + [UInt8($0)]), remaining: .max)
    }
    let longest = AgentAnswer.status(AgentStatus(timeout: .max, passphrase: .max, secrets: entries))
    #expect(try message(longest).count == AgentMessage.answerLimit)
  }

  @Test("what is cut off, too long, of another version or type, or not in order is refused")
  func refused() throws {
    for request in try requests() {
      let whole = (try message(request))
      for count in 0..<whole.count {
        #expect(throws: WireError.self) { try self.request(Array(whole[..<count])) }
      }
      #expect(throws: WireError.self) { try self.request(Array((whole + [0]))) }
      #expect(throws: WireError.self) { try self.request(Array(([2] + whole.dropFirst()))) }
      #expect(throws: WireError.self) { try self.answer(Array(whole)) }
    }
    for answer in try answers() {
      let whole = (try message(answer))
      for count in 0..<whole.count {
        #expect(throws: WireError.self) { try self.answer(Array(whole[..<count])) }
      }
      #expect(throws: WireError.self) { try self.answer(Array((whole + [0]))) }
      #expect(throws: WireError.self) { try self.request(Array(whole)) }
    }
    var status = (try message(try answers()[0]))
    let first = status.count - 48
    status.swapAt(first, first + 24)
    #expect(throws: WireError.self) { try self.answer(Array(status)) }
    let unkept: [UInt8] = [1, 0x81] + [UInt8](repeating: 0, count: 9) + [0, 0, 0, 0, 0, 0, 0, 1, 0, 0]
    #expect(throws: WireError.self) { try self.answer(Array(unkept)) }
    #expect(throws: WireError.self) { try self.answer(Array([1, 0x86, 9])) }
  }

  @Test("the example in the documentation is what the program makes")
  func example() throws {
    var example = ""
    func add(_ title: String, _ message: [UInt8]) {
      let text = hexadecimal(message)
      example += title + "\n"
      var rest = text[...]
      while !rest.isEmpty {
        example += "  " + rest.prefix(96) + "\n"
        rest = rest.dropFirst(96)
      }
    }
    add("command: what is unlocked?", try message(.status))
    add(
      "agent: nothing; the time is ten minutes",
      try message(.status(AgentStatus(timeout: 600_000, passphrase: nil, secrets: []))))
    add(
      "command: keep this secret; a descriptor of 1040 bytes comes with it",
      try message(.keepSecret(id(), byteCount: 1040)))
    add("agent: done", try message(AgentAnswer.done))
    add("command: what is unlocked?", try message(.status))
    let entry = AgentStatus.Entry(id: try id(), remaining: 599_000)
    add(
      "agent: one secret, for 599 seconds",
      try message(.status(AgentStatus(timeout: 600_000, passphrase: nil, secrets: [entry]))))
    add("command: the secret, please", try message(.secret(id())))
    add("agent: here it is, with the descriptor", try message(.secret(byteCount: 1040)))
    add("command: lock everything", try message(.lockAll))
    add("agent: done", try message(AgentAnswer.done))
    add("command: the vault's passphrase, please", try message(.passphrase))
    add("agent: that is not unlocked", try message(AgentAnswer.locked))
    let path = #filePath.replacing("Tests/VaultDaemonTests/AgentMessagesTests.swift", with: "docs/formats/agent.md")
    let document = try String(contentsOfFile: path, encoding: .utf8)
    #expect(document.contains("```\n" + example + "```\n"), "the example should read:\n\(example)")
  }
}
