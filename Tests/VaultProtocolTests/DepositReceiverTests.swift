import ShamirKit
import Sodium
import Testing

@testable import VaultProtocol

/// A secret with real fragments of a random ciphertext.
private struct DealtFragments {
  let dealt: DealtSecret
  /// Pieces of each fragment in turn.
  let pieces: [[[UInt8]]]

  init(threshold: Int, shareCount: Int, byteCount: Int) throws {
    let plan = try DispersalPlan(dataCount: threshold, fragmentCount: shareCount, byteCount: UInt64(byteCount))
    let ciphertext = try Randomness.bytes(byteCount)
    let encoder = try StripeEncoder(plan)
    var pieces = [[[UInt8]]](repeating: [], count: shareCount)
    for stripe in 0..<plan.stripeCount {
      let start = Int(stripe) * plan.maximumStripeByteCount
      let data = Array(ciphertext[start..<(start + plan.stripeDataByteCount(stripe))])
      let length = plan.pieceByteCount(stripe)
      var output = [UInt8](repeating: 0, count: length * shareCount)
      try data.withUnsafeBytes { data in
        try output.withUnsafeMutableBytes { try encoder.encode(stripe: stripe, data: data, into: $0) }
      }
      for fragment in 0..<shareCount {
        pieces[fragment].append(Array(output[(fragment * length)..<((fragment + 1) * length)]))
      }
    }
    dealt = try DealtSecret(threshold: threshold, shareCount: shareCount, byteCount: UInt64(byteCount)) { id in
      try pieces.enumerated().map { position, pieces in
        var accumulator = MerkleAccumulator()
        for (number, bytes) in pieces.enumerated() {
          try accumulator.append(
            leaf: MerkleLeaf.digest(
              secret: id, fragment: UInt8(position + 1), piece: UInt64(number), bytes: bytes.span.bytes))
        }
        return try accumulator.root()
      }
    }
    self.pieces = pieces
  }

  static func random() throws -> DealtFragments {
    let shareCount = Int.random(in: 2...6)
    let threshold = Int.random(in: 2...shareCount)
    return try DealtFragments(
      threshold: threshold, shareCount: shareCount, byteCount: .random(in: 1...(threshold * 65536 * 3)))
  }

  func pieces(of index: UInt8) -> [[UInt8]] { pieces[Int(index) - 1] }
}

@Suite("A holder's view of an arriving fragment")
struct DepositReceiverTests {
  private func refusal(_ receiver: inout DepositReceiver, _ number: UInt64, _ bytes: [UInt8]) -> ProtocolError? {
    do throws(ProtocolError) {
      _ = try receiver.take(number: number, bytes: bytes.span.bytes)
      return nil
    } catch {
      return error
    }
  }

  private func verdict(_ receiver: DepositReceiver) -> ProtocolError? {
    protocolError { () throws(ProtocolError) in try receiver.verify() }
  }

  @Test("takes every announced fragment, piece by piece, and hands out its leaves", arguments: 0..<5)
  func takesEveryFragment(_: Int) throws {
    let fragments = try DealtFragments.random()
    let header = fragments.dealt.header
    for index in 1...UInt8(fragments.pieces.count) {
      var receiver = DepositReceiver(header: header, index: index)
      for (number, bytes) in fragments.pieces(of: index).enumerated() {
        #expect(!receiver.isComplete)
        #expect(receiver.nextPiece == number)
        let leaf = try receiver.take(number: UInt64(number), bytes: bytes.span.bytes)
        #expect(
          try leaf
            == MerkleLeaf.digest(secret: header.id, fragment: index, piece: UInt64(number), bytes: bytes.span.bytes))
      }
      #expect(receiver.isComplete)
      #expect(verdict(receiver) == nil)
    }
  }

  @Test("takes no piece but the next one, and is none the worse for the others")
  func onlyInOrder() throws {
    let fragments = try DealtFragments(threshold: 2, shareCount: 3, byteCount: 300_000)
    let pieces = fragments.pieces(of: 3)
    #expect(pieces.count == 3)
    var receiver = DepositReceiver(header: fragments.dealt.header, index: 3)
    for due in 0..<3 {
      for number in [UInt64(0), 1, 2, 3, .max] where number != due {
        let bytes = number < 3 ? pieces[Int(number)] : pieces[0]
        #expect(refusal(&receiver, number, bytes) == .unexpectedPiece(number: number))
      }
      #expect(refusal(&receiver, UInt64(due), pieces[due]) == nil)
    }
    #expect(refusal(&receiver, 3, pieces[0]) == .unexpectedPiece(number: 3))
    #expect(refusal(&receiver, 2, pieces[2]) == .unexpectedPiece(number: 2))
    #expect(verdict(receiver) == nil)
  }

  @Test("takes no piece of another length")
  func onlyOfTheRightLength() throws {
    let fragments = try DealtFragments(threshold: 2, shareCount: 3, byteCount: 300_000)
    let pieces = fragments.pieces(of: 1)
    var receiver = DepositReceiver(header: fragments.dealt.header, index: 1)
    for (number, bytes) in pieces.enumerated() {
      for wrong in [[], Array(bytes.dropLast()), bytes + [0], Array(bytes.prefix(64))] {
        #expect(refusal(&receiver, UInt64(number), wrong) == .unexpectedPiece(number: UInt64(number)))
      }
      #expect(refusal(&receiver, UInt64(number), bytes) == nil)
    }
    #expect(verdict(receiver) == nil)
  }

  @Test("refuses the whole after any changed byte")
  func changedByte() throws {
    let fragments = try DealtFragments.random()
    let index = UInt8.random(in: 1...UInt8(fragments.pieces.count))
    let pieces = fragments.pieces(of: index)
    for damaged in pieces.indices {
      var receiver = DepositReceiver(header: fragments.dealt.header, index: index)
      for (number, bytes) in pieces.enumerated() {
        var bytes = bytes
        if number == damaged { bytes[.random(in: bytes.indices)] ^= .random(in: 1...255) }
        #expect(refusal(&receiver, UInt64(number), bytes) == nil)
      }
      #expect(verdict(receiver) == .fragmentMismatch)
    }
  }

  @Test("refuses another holder's fragment in place of its own")
  func foreignFragment() throws {
    let fragments = try DealtFragments(threshold: 2, shareCount: 3, byteCount: 1000)
    for index in UInt8(1)...3 {
      for other in UInt8(1)...3 {
        var receiver = DepositReceiver(header: fragments.dealt.header, index: index)
        #expect(refusal(&receiver, 0, fragments.pieces(of: other)[0]) == nil)
        #expect(verdict(receiver) == (index == other ? nil : .fragmentMismatch))
      }
    }
  }

  @Test("doesn't verify before the last piece")
  func incomplete() throws {
    let fragments = try DealtFragments(threshold: 2, shareCount: 2, byteCount: 300_000)
    var receiver = DepositReceiver(header: fragments.dealt.header, index: 1)
    for (number, bytes) in fragments.pieces(of: 1).enumerated() {
      #expect(verdict(receiver) == .unexpectedPiece(number: UInt64(number)))
      #expect(refusal(&receiver, UInt64(number), bytes) == nil)
    }
    #expect(verdict(receiver) == nil)
  }

  @Test("never verifies a fragment that the header doesn't have", arguments: [UInt8(0), 4, 255])
  func noSuchFragment(_ index: UInt8) throws {
    let fragments = try DealtFragments(threshold: 2, shareCount: 3, byteCount: 1000)
    var receiver = DepositReceiver(header: fragments.dealt.header, index: index)
    #expect(refusal(&receiver, 0, fragments.pieces(of: 1)[0]) == nil)
    #expect(verdict(receiver) == .rejected(.foreignShare(index: index)))
  }
}
