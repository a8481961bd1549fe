import HTTPRequests
import Testing
import WireCodec
import XMPPRequests

@testable import NetLink

/// Each value reads as it was written, and nothing else does.
@Suite struct MessageTests {
  private static func message(_ text: String) throws -> XMPPMessage {
    XMPPMessage(
      id: "m", from: try JID("ada@example.org/phone"), to: try JID("bob@example.org"), body: text,
      stamp: "2026-01-01T00:00:00Z", wantsReceipt: true, archiveID: "a1", subject: "s", missing: 3)
  }

  static func events() throws -> [XMPPEvent] {
    let bob = try JID("bob@example.org/x")
    let part = XMPPParcelPart(
      id: "p", from: bob, number: 1, count: 3, bytes: [1, 2, 3], stamp: nil, carriage: XMPPCarriage(branch: 1, hops: 2))
    let contact = XMPPContact(address: bob.bare, name: "Bob", subscription: .both, isAsking: true)
    return [
      .message(try message("häl\nlo")), .copy(try message("")), .parcel(part), .receipt(id: "r", from: bob),
      .undelivered(id: "u", to: nil, XMPPCondition("item-not-found")),
      .presence(XMPPPresence(from: bob, state: .doNotDisturb, status: "zz")), .subscription(.approved, from: bob),
      .contact(contact), .ignored("why"), .missed(7), .closed(nil), .closed(.streamEnded(XMPPCondition("conflict"))),
      .closed(.unreachable("gone")),
    ]
  }

  @Test func `events`() throws {
    for event in try Self.events() {
      #expect(try XMPPEvent(encoded: event.encoded) == event)
      refusesOthers(event.encoded) { try XMPPEvent(encoded: $0).encoded }
    }
  }

  @Test func `errors of both kinds`() throws {
    let errors: [XMPPError] = [
      .invalidAddress("a"), .invalidPassword("b"), .invalidContent("c"), .unreachable("d"), .untrusted("e"),
      .unencrypted, .noSafeLogin, .wrongPassword, .refused(XMPPCondition("not-allowed")),
      .registrationUnavailable("f"), .accountExists, .malformed("g"), .tooMuch("h"),
      .streamEnded(XMPPCondition("conflict")), .closed, .busy, .cancelled, .tooManyFiles, .noResources,
    ]
    for error in errors {
      #expect(try XMPPError(encoded: error.encoded) == error)
      refusesOthers(error.encoded) { try XMPPError(encoded: $0).encoded }
    }
    let others: [HTTPError] = [
      .invalidAddress("a"), .insecureAddress, .unreachable("b"), .untrusted("c"), .timedOut, .answerTooLong,
      .cancelled, .noResources,
    ]
    for error in others { #expect(try HTTPError(encoded: error.encoded) == error) }
    #expect(try XMPPError(encoded: XMPPError.unreachable("a\u{1b}[2Jb").encoded) == .unreachable("a?[2Jb"))
  }

  @Test func `replies`() throws {
    let contact = XMPPContact(address: try JID("c@d"), name: nil, subscription: .none, isAsking: false)
    let page = XMPPArchivePage(messages: [try Self.message("x")], last: "l", first: nil, isComplete: true)
    for reply in [XMPPReply.done, .words(["a", "", "ü"]), .page(page), .contacts([contact])] {
      #expect(try XMPPReply(encoded: reply.encoded) == reply)
      refusesOthers(reply.encoded) { try XMPPReply(encoded: $0).encoded }
    }
  }

  static func requests() throws -> [XMPPRequest] {
    let bob = try JID("bob@example.org")
    let part = XMPPOutgoingPart(id: "i", to: bob, number: 0, count: 1, bytes: [9], carriage: nil)
    return [
      .message(text: "t", to: bob, id: "i", wantsReceipt: false), .part(part), .copies,
      .acknowledge(id: "i", to: bob), .features(of: nil), .archive(with: bob, from: .after("x"), limit: 50),
      .archive(with: nil, from: .end, limit: 1), .roster, .setContact(bob, name: "Bob"), .removeContact(bob),
      .change(.requested, with: bob), .announce(.away, status: "s", priority: -3, to: nil), .putAside,
      .view(putAside: "n"), .ping(bob),
    ]
  }

  @Test func `questions`() throws {
    for request in try Self.requests() {
      let bytes = request.encoded(for: 9)
      let (connection, read) = try XMPPRequest.decode(bytes, password: nil)
      #expect(connection == 9 && read.encoded(for: 9) == bytes)
      refusesOthers(bytes) {
        let (connection, read) = try XMPPRequest.decode($0, password: nil)
        return read.encoded(for: connection)
      }
    }
  }

  @Test func `requests to servers of groups`() throws {
    var request = HTTPRequest(method: .put, server: try ServerAddress("https://a.example:8443/x"), path: "/v1/y?z=1")
    request.headers = ["A: b", "C: d"]
    request.body = [1, 2, 3]
    request.patience = .milliseconds(1500)
    request.answerLimit = 77
    let read = try HTTPRequest(encoded: request.encoded)
    #expect(read.encoded == request.encoded && read.server == request.server && read.patience == request.patience)
    refusesOthers(request.encoded) { try HTTPRequest(encoded: $0).encoded }
  }

  @Test func `what a server asks of who knows the password`() throws {
    for question in [ScramQuestion.opening(.sha256), .challenge([1, 2]), .proof([])] {
      #expect(try ScramQuestion(encoded: question.encoded) == question)
    }
    for answer in [Result<[UInt8], XMPPError>.success([1]), .failure(.wrongPassword)] {
      #expect(try ScramQuestion.decode(answer: ScramQuestion.encode(answer)) == answer)
    }
  }

  /// Neither the beginning of something, nor something with more behind it, nor something that is written in two ways.
  private func refusesOthers(_ bytes: [UInt8], _ again: ([UInt8]) throws -> [UInt8]) {
    for count in 0..<bytes.count { #expect(throws: WireError.self) { try again(Array(bytes[..<count])) } }
    #expect(throws: WireError.self) { try again(bytes + [0]) }
    for place in bytes.indices {
      var changed = bytes
      changed[place] ^= 0x55
      if let written = try? again(changed) { #expect(written == changed) }
    }
  }
}
