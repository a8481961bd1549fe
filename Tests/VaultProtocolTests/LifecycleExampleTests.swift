import Foundation
import PeerAuth
import Sodium
import Testing
import WireCodec

@testable import ShamirKit
@testable import VaultProtocol

@Suite("The example in docs/formats/lifecycle.md")
struct LifecycleExampleTests {
  private let example: LifecycleExample
  private let page: String

  init() throws {
    example = try LifecycleExample()
    let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/formats/lifecycle.md")
    page = try String(contentsOf: url.standardized, encoding: .utf8)
  }

  /// Name and hexadecimal, 64 digits a line.
  private func expectDocumented(_ values: [(String, [UInt8])]) {
    let text = values.map { name, bytes in
      let lines = stride(from: 0, to: bytes.count, by: 32).map { hexadecimal(bytes[$0..<min($0 + 32, bytes.count)]) }
      return "\(name)\n" + lines.map { "    \($0)\n" }.joined()
    }.joined()
    #expect(page.contains("```\n\(text)```"), "expected:\n```\n\(text)```")
  }

  /// The values of the first block behind a heading.
  private func documented(_ heading: String) throws -> [(name: String, bytes: [UInt8])] {
    let section = try #require(page.components(separatedBy: "\n### \(heading)\n").dropFirst().first)
    let block = try #require(section.components(separatedBy: "```").dropFirst().first)
    var values: [(name: String, bytes: [UInt8])] = []
    for line in block.split(separator: "\n") {
      if line.hasPrefix("    ") {
        values[values.count - 1].bytes += try #require(bytes(hexadecimal: String(line.dropFirst(4))))
      } else {
        values.append((String(line), []))
      }
    }
    return values
  }

  /// The documented dealings in a record of the documented proposal.
  private func record() throws -> SharingRecord {
    let dealings = try ["Bob's dealing", "Cay's dealing"].map { try documented($0).flatMap(\.bytes) }
    let bytes = [1] + (try documented("Proposal").flatMap(\.bytes)) + [2] + dealings.joined()
    return try SharingRecord.decode(bytes, limit: SharingRecord.byteLimit)
  }

  /// The documented boxes for a row, Bob's and Cay's.
  private func boxes(for row: Int) throws -> [[UInt8]] {
    try ["Boxes by Bob", "Boxes by Cay"].map { try documented($0)[row - 1].bytes }
  }

  @Test("has the joining that this code makes, field by field")
  func joining() throws {
    let fields = try example.joiningFields()
    #expect(try fields.flatMap(\.1) == example.proposal.rows[0].joining.encoded())
    expectDocumented(fields)
  }

  @Test("has the proposal that this code makes, field by field")
  func proposal() throws {
    let fields = try example.proposalFields()
    #expect(try fields.flatMap(\.1) == example.proposal.encoded())
    expectDocumented(fields)
  }

  @Test("has the contents of a box that this code makes")
  func boxContents() throws { expectDocumented(try example.boxContents()) }

  @Test("has boxes that this code opens", arguments: [UInt8(2), 3])
  func boxes(_ dealer: UInt8) throws {
    let drawn = try example.drawn(by: dealer)
    for (place, row) in example.proposal.rows.enumerated() {
      let box = try boxes(for: place + 1)[Int(dealer) - 2]
      let opened = try SubshareBox.open(
        box, with: example.receiving[place], from: dealer, to: row, proposal: example.proposal.digest())
      let expected = try drawn.share(row.index)
      let (found, dealt) = (exposed(opened.bytes), exposed(expected.bytes))
      #expect(found == dealt)
    }
  }

  @Test("has dealings with the points that this code makes, over the boxes of the page", arguments: [UInt8(2), 3])
  func dealings(_ dealer: UInt8) throws {
    let dealing = try record().dealings[Int(dealer) - 2]
    let drawn = try example.drawn(by: dealer)
    let points = Array(drawn.commitments.points.dropFirst())
    #expect(dealing.index == dealer)
    #expect(dealing.points == points)
    let sealed = try (1...3).map { try boxes(for: $0)[Int(dealer) - 2] }
    #expect(try dealing.boxes == HolderDealing.digest(of: sealed))
    expectDocumented(try example.fields(dealing))
  }

  @Test("has a record that verifies after the header, and what follows from it")
  func outcome() throws {
    let record = try record()
    let (epoch, redistribution) = try record.verified(after: example.epoch)
    var values = [
      ("proposal digest", try record.proposal.digest().bytes),
      ("digest of Bob's dealing", try record.dealings[0].digest().bytes),
      ("digest of Cay's dealing", try record.dealings[1].digest().bytes), ("record digest", epoch.digest.bytes),
      ("commitments", try epoch.commitments.encoded()),
    ]
    var collector = try ShareCollector(scheme: epoch.scheme, commitments: epoch.commitments)
    for (place, row) in record.proposal.rows.enumerated() {
      let share = try record.takeOver(
        row, boxes: boxes(for: place + 1), with: example.receiving[place], redistribution)
      values.append(("share \(row.index)", exposed(share.bytes)))
      if place < 2 { try collector.add(share) }
    }
    try collector.verify()
    let key = try collector.fileKey(for: example.epoch.secret)
    values.append(("file key", exposed(key)))
    expectDocumented(values)
  }

  @Test("recovers the key of the sharing before")
  func key() throws {
    var collector = try ShareCollector(scheme: example.epoch.scheme, commitments: example.epoch.commitments)
    for index in UInt8(2)...3 { try collector.add(example.share(index)) }
    try collector.verify()
    let key = try collector.fileKey(for: example.epoch.secret)
    let bytes = exposed(key)
    #expect(try documented("What follows").last?.bytes == bytes)
  }
}
