import PeerAuth
import ShamirKit
import Sodium
import Testing
import WireCodec

@testable import VaultProtocol

/// What one session may bring about secrets' holders, and what an object says of itself.
@Suite struct LifecycleAnswererTests {
  private func question(_ request: UInt64) -> LifecycleRequest {
    LifecycleRequest(request: request, tag: nil, proof: nil, known: [])
  }

  /// One of the largest names of a record.
  private func item(_ request: UInt64) throws -> LifecycleItem {
    let name = RecordName(
      proposal: try randomDigest(), dealings: [Digest](repeating: try randomDigest(), count: 255),
      signature: [UInt8](repeating: 1, count: 64))
    return LifecycleItem(request: request, kind: .record, bytes: try name.encoded())
  }

  @Test func `a session has so many questions, and no more`() throws {
    var answerer = LifecycleAnswerer()
    for number in 1...UInt64(LifecycleAnswerer.questionLimit) {
      try #require(try answerer.receive(.question(question(number))) != nil)
      try #require(try answerer.receive(.end(LifecycleEnd(request: number))) != nil)
    }
    #expect(try answerer.receive(.question(question(0))) == nil)
  }

  @Test func `questions that are refused count, too`() throws {
    var answerer = LifecycleAnswerer()
    for number in 1...UInt64(LifecycleAnswerer.questionLimit) {
      try #require(try answerer.receive(.question(question(number))) != nil)
      answerer.refused()
    }
    #expect(try answerer.receive(.question(question(0))) == nil)
  }

  @Test func `a question brings four mebibytes at most, and the next one as many`() throws {
    let item = try item(1)
    let most = LifecycleAnswerer.byteLimit / item.bytes.count
    var answerer = LifecycleAnswerer()
    for _ in 0..<2 {
      _ = try answerer.receive(.question(question(1)))
      for _ in 0..<most { try #require(try answerer.receive(.item(item)) != nil) }
      var over = answerer
      #expect(try over.receive(.item(item)) == nil)
      _ = try answerer.receive(.end(LifecycleEnd(request: 1)))
    }
  }

  @Test func `a record's name is signed by its asker over these dealings in this order`() throws {
    let (asker, other) = (try Identity.generate(), try Identity.generate())
    let (proposal, dealings) = (try randomDigest(), try (0..<2).map { _ in try randomDigest() })
    let name = try RecordName.sign(dealings, of: proposal, by: asker)
    try name.verify(asker.keys)
    #expect(throws: ProtocolError.foreignProposal("record")) { try name.verify(other.keys) }
    for (digest, named) in [(proposal, dealings.reversed()), (try randomDigest(), dealings), (proposal, [dealings[0]])]
    {
      let changed = RecordName(proposal: digest, dealings: Array(named), signature: name.signature)
      #expect(throws: ProtocolError.foreignProposal("record")) { try changed.verify(asker.keys) }
    }
  }

  @Test func `a dealing has the boxes over which it is made, all of them and in their order`() throws {
    let circle = try Circle(2, 3)
    let proposal = try circle.proposal(circle.rows(), threshold: 2)
    let (record, boxes) = try circle.dealt(proposal, by: [circle.people[1]])
    let (dealing, own) = (record.dealings[0], try #require(boxes[2]))
    let bytes = try LifecycleObject.dealing(dealing, boxes: own).encoded()
    #expect(try LifecycleObject(.dealing, bytes) == .dealing(dealing, boxes: own))
    for changed in [[], Array(own.dropLast()), Array(own.reversed()), own + [own[0]]] {
      let forged = try LifecycleObject.dealing(dealing, boxes: changed).encoded()
      #expect(throws: ProtocolError.foreignProposal("boxes")) { _ = try LifecycleObject(.dealing, forged) }
    }
  }
}
