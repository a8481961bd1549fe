import PeerAuth
import ShamirKit
import Sodium
import Testing
import WireCodec

@testable import VaultProtocol

/// Every fault stands in a header that its dealer has signed: nothing but the fault can be what is refused.
@Suite("Limits of the secret header")
struct SecretHeaderLimitTests {
  private func refusal(
    threshold: Int = 2, shareCount: Int = 3, _ change: (inout HeaderParts) -> Void
  ) throws -> ProtocolError? {
    let dealt = try DealtSecret(threshold: threshold, shareCount: shareCount, labels: (0..<shareCount).map(String.init))
    var parts = try HeaderParts(dealt.header)
    change(&parts)
    return VaultProtocolTests.refusal(ofHeader: try parts.signed(by: dealt.dealer))
  }

  private func invalid(_ field: String) -> ProtocolError { .malformed(.invalidValue(field: field)) }

  @Test("The largest legal header, 255 of 255 with the longest texts and extensions, fits into 64 KiB")
  func largestHeader() throws {
    let longest = String(repeating: "é", count: 64)
    let dealt = try DealtSecret(
      threshold: 255, shareCount: 255, description: String(repeating: "x", count: 1024),
      labels: [String](repeating: longest, count: 255))
    var parts = try HeaderParts(dealt.header)
    let entry = [UInt8](repeating: 7, count: 4092)
    parts.extensions = bigEndian(UInt16(4096)) + [0, 1] + bigEndian(UInt16(4092)) + entry
    let bytes = try parts.signed(by: dealt.dealer)
    let header = try SecretHeader(bytes: bytes)
    #expect(bytes.count == 62890)
    #expect(bytes.count <= SecretHeader.byteLimit)
    #expect(header.labels?.count == 255)
    #expect(header.extensions[1] == entry)
    #expect(header.id == dealt.header.id)
  }

  @Test("Bytes over 64 KiB are refused on their number alone")
  func tooLong() {
    let bytes = [UInt8](repeating: 1, count: SecretHeader.byteLimit + 1)
    let error = VaultProtocolTests.refusal(ofHeader: bytes)
    #expect(error == .malformed(.limitExceeded(field: "header", limit: SecretHeader.byteLimit)))
  }

  @Test("Other versions and suites are unsupported", arguments: [UInt8(0), 2, 255])
  func versions(_ number: UInt8) throws {
    let version = try refusal { $0.version = number }
    #expect(version == .malformed(.unsupported(field: "header version", value: UInt64(number))))
    let suite = try refusal { $0.suite = number }
    #expect(suite == .malformed(.unsupported(field: "suite", value: UInt64(number))))
  }

  @Test("A data count other than the threshold is refused")
  func dataCount() throws {
    for count in UInt8.min...(.max) where count != 2 {
      #expect(try refusal { $0.dataCount = count } == invalid("data count"), "\(count)")
    }
  }

  @Test("A threshold below 2 or above the number of shares is refused", arguments: [UInt8(0), 1, 4, 255])
  func threshold(_ threshold: UInt8) throws {
    let error = try refusal {
      $0.threshold = threshold
      $0.dataCount = threshold
    }
    #expect(error == invalid("threshold"))
  }

  @Test("More or fewer commitments than the threshold are refused")
  func commitmentCount() throws {
    let three = try Dealing.fresh(ThresholdScheme(threshold: 3, shareCount: 3)).commitments.encoded()
    #expect(try refusal { $0.commitments = three } == invalid("commitments"))
    let two = try Dealing.fresh(ThresholdScheme(threshold: 2, shareCount: 3)).commitments.encoded()
    #expect(try refusal(threshold: 3) { $0.commitments = two } == invalid("commitments"))
    #expect(try refusal { $0.commitments = [1] + $0.commitments[1..<33] } == invalid("commitment count"))
  }

  @Test("A commitment that is the identity, or not canonical, is refused")
  func commitmentPoints() throws {
    let identity = [UInt8](repeating: 0, count: 32)
    #expect(try refusal { $0.commitments.replaceSubrange(33..., with: identity) } == invalid("commitment"))
    let notCanonical = [UInt8](repeating: 0xff, count: 32)
    #expect(try refusal { $0.commitments.replaceSubrange(1..<33, with: notCanonical) } == invalid("commitment"))
  }

  @Test("Hostile ciphertext lengths are refused", arguments: [UInt64(0), 1 << 56 + 1, 1 << 63, .max])
  func ciphertextLength(_ length: UInt64) throws {
    #expect(try refusal { $0.ciphertextByteCount = length } == invalid("ciphertext length"))
  }

  @Test("The longest ciphertext is only a number: no memory is taken for it")
  func longestCiphertext() throws {
    for shareCount in [2, 255] {
      let dealt = try DealtSecret(threshold: 2, shareCount: shareCount, byteCount: 1 << 56)
      #expect(dealt.header.dispersal.byteCount == 1 << 56)
    }
  }

  @Test("A time beyond 2^63 − 1 is refused")
  func time() throws {
    #expect(try refusal { $0.created = 1 << 63 } == invalid("created"))
    #expect(try refusal { $0.created = 1 << 63 - 1 } == nil)
  }

  @Test("A description of 1024 bytes is taken, one more is refused")
  func descriptionLength() throws {
    #expect(try refusal { $0.description = [UInt8](repeating: 0x41, count: 1024) } == nil)
    let error = try refusal { $0.description = [UInt8](repeating: 0x41, count: 1025) }
    #expect(error == .malformed(.limitExceeded(field: "description", limit: 1024)))
  }

  @Test("A label of 128 bytes is taken, one more is refused")
  func labelLength() throws {
    #expect(try refusal { $0.labels[2] = [UInt8](repeating: 0x41, count: 128) } == nil)
    let error = try refusal { $0.labels[2] = [UInt8](repeating: 0x41, count: 129) }
    #expect(error == .malformed(.limitExceeded(field: "label", limit: 128)))
  }

  @Test("A label too many or too few never parses")
  func labelCount() throws {
    #expect(try refusal { $0.labels.append([0x41]) } != nil)
    #expect(try refusal { $0.labels.removeLast() } != nil)
    #expect(try refusal { $0.labelsFlag = 0 } != nil)
    #expect(try refusal { $0.labelsFlag = 2 } == invalid("labels"))
  }

  private static let badTexts: [[UInt8]] = [
    [0x41, 0], [0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80],
  ]

  @Test("Texts that are not UTF-8, or hold a zero, are refused", arguments: badTexts)
  func texts(_ bytes: [UInt8]) throws {
    #expect(try refusal { $0.description = bytes } == invalid("description"))
    #expect(try refusal { $0.labels[0] = bytes } == invalid("label"))
  }

  @Test("A root or row too many or too few is refused")
  func digestCounts() throws {
    #expect(try refusal { $0.roots.removeLast() } != nil)
    #expect(try refusal { $0.rows.removeLast() } != nil)
    #expect(try refusal { $0.roots.append([UInt8](repeating: 1, count: 32)) } != nil)
  }

  @Test("An extension with an even number is refused, one with an odd number kept")
  func extensions() throws {
    let even = try refusal { $0.extensions = [0, 5, 0, 2, 0, 1, 9] }
    #expect(even == .malformed(.unsupported(field: "extension", value: 2)))
    let dealt = try DealtSecret(threshold: 2, shareCount: 2)
    var parts = try HeaderParts(dealt.header)
    parts.extensions = [0, 5, 0, 3, 0, 1, 9]
    let header = try SecretHeader(bytes: parts.signed(by: dealt.dealer))
    #expect(header.extensions[3] == [9])
  }

  @Test("Extensions out of order, twice, or over 4096 bytes are refused")
  func extensionOrder() throws {
    #expect(try refusal { $0.extensions = [0, 8, 0, 3, 0, 0, 0, 1, 0, 0] } == invalid("extension order"))
    #expect(try refusal { $0.extensions = [0, 8, 0, 3, 0, 0, 0, 3, 0, 0] } == invalid("extension order"))
    let tooLong = try refusal { $0.extensions = [0x10, 1] + [UInt8](repeating: 0, count: 4097) }
    #expect(tooLong == .malformed(.limitExceeded(field: "extensions", limit: 4096)))
  }
}
