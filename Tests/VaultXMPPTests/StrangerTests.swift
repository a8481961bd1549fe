import Testing
import VaultProtocol
import XMPPRequests

@testable import VaultXMPP

@Suite struct StrangerTests {
  @Test func `the largest parcel from an address that nobody knows becomes whole`() throws {
    var collector = XMPPParcelCollector(limits: AccountExchange.strangerLimits)
    let bytes = [UInt8](repeating: 7, count: Parcel.byteLimit)
    let starts = Array(stride(from: 0, to: bytes.count, by: XMPPParcelPart.sizeLimit))
    var whole: XMPPParcelCollector.Parcel?
    for (number, start) in starts.enumerated() {
      let end = min(start + XMPPParcelPart.sizeLimit, bytes.count)
      let part = XMPPParcelPart(
        id: "a", from: try JID("ada@localhost/x"), number: number, count: starts.count,
        bytes: Array(bytes[start..<end]), stamp: nil)
      whole = collector.add(part)
    }
    #expect(whole?.bytes.count == bytes.count)
  }
}
