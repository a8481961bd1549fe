import Foundation
import Glibc
import HTTPRequests
import Sodium
import Testing
import XMPPRequests

@testable import NetLink

/// What vault-net may do to who has the keys: a delay and a sentence.
@Suite(.timeLimit(.minutes(5))) struct HelperFaultTests {
  private static let senseless = HTTPError.unreachable(NetFault.senseless.description)
  private static let silent = HTTPError.unreachable(NetFault.silent.description)
  /// The version and the head of what is asked come first.
  static let waits =
    "head -c \(NetFrame(.version, version: NetVersion.text).byteCount + NetFrame.headByteCount) <&0 >/dev/null; "

  @Test func `one that isn't installed is named, with the places where it may be`() async throws {
    let fault = NetFault.missing(candidates: ["/usr/bin/vault-net", "/usr/bin/../libexec/vault-net"])
    #expect(fault.description == "the program vault-net, which speaks to servers, is missing")
    #expect(
      fault.hint == "it comes with vault: install it as /usr/bin/vault-net or /usr/bin/../libexec/vault-net")
  }

  @Test func `one that can't be started is the reason, not the network`() async throws {
    let helper = NetHelper(path: "/nowhere/vault-net")
    let server = try PlainServer(nil)
    #expect(helper.hint == nil)
    #expect(
      await failure(helper, server.request())
        == .unreachable("the helper vault-net can't be started: no such file or directory"))
    #expect(helper.hint == "does `vault-net --version` run? it comes with vault: if not, install both anew")
  }

  @Test(arguments: ["exit 0", waits + "exit 3", waits + "kill -9 $$"])
  func `one that ends is an error, and the next request starts another`(_ script: String) async throws {
    let fake = try FakeHelper(script)
    let server = try PlainServer(nil)
    for _ in 0..<2 {
      switch await failure(fake.helper, server.request()) {
      case .unreachable(let reason): #expect(reason.hasPrefix("the helper vault-net "), "\(reason)")
      case let error: Issue.record("\(String(describing: error))")
      }
    }
  }

  @Test(arguments: [
    // Of no known kind, of the other side, a longer one than any.
    FakeHelper.says(0x7F, length: 0), FakeHelper.says(0x02, length: 0), FakeHelper.says(0x81, length: 0xFFFF_FFFF),
    // Longer than this request allows, an answer to another, one with a key where none is due, an event.
    FakeHelper.says(0x81, length: 2000), FakeHelper.says(0x81, length: 7, id: 2), FakeHelper.says(0x82, length: 7),
    FakeHelper.says(0x89, length: 3), FakeHelper.says(0x88, length: 1),
    // Its version once more, as which number ever.
    FakeHelper.says(0x8B, length: 9, id: 0), FakeHelper.says(0x8B, length: 9),
    // A pong that nobody asked for.
    FakeHelper.says(0x84, length: 0, id: 0),
    // Bodies that are none.
    FakeHelper.says(0x81, length: 2, body: [0, 200]), FakeHelper.says(0x83, length: 1, body: [9]),
    FakeHelper.says(0x81, length: 7, body: [0, 200, 2, 0, 0, 0, 0]),
    FakeHelper.says(0x83, length: 6, body: [3, 0, 0, 0, 1, 27]),
    // Without an end.
    "cat /dev/zero >&0", "yes >&0",
  ])
  func `one that says what it shouldn't is ended`(_ script: String) async throws {
    let fake = try FakeHelper(Self.waits + script + "; sleep 60")
    let server = try PlainServer(nil)
    #expect(await failure(fake.helper, server.request()) == Self.senseless)
  }

  @Test func `one of another version is named, with what to do`() async throws {
    let fake = try FakeHelper("sleep 60", version: "0.0.9")
    let server = try PlainServer(nil)
    let reason = "the helper vault-net is of version 0.0.9, and this program of 0.1.0; install both anew"
    // At once, behind the second start, and while no third one is made.
    for _ in 1...3 {
      #expect(await failure(fake.helper, server.request()) == .unreachable(reason))
      #expect(fake.helper.hint?.contains("install both anew") == true)
    }
  }

  @Test(arguments: ["", "1\u{1b}[2J", String(repeating: "1", count: 65)])
  func `one whose version makes no sense is ended`(_ version: String) async throws {
    let fake = try FakeHelper("sleep 60", version: version)
    let server = try PlainServer(nil)
    #expect(await failure(fake.helper, server.request()) == Self.senseless)
  }

  @Test(arguments: ["sleep 60", waits + FakeHelper.says(0x81, length: 500) + "; sleep 60"])
  func `one that falls silent is given up`(_ script: String) async throws {
    let fake = try FakeHelper(script, patience: 300)
    let server = try PlainServer(nil)
    #expect(await failure(fake.helper, server.request()) == Self.silent)
  }

  @Test func `one that lets a message trickle is given up`() async throws {
    let trickle = "; while printf '\\0' >&0; do sleep 0.02; done"
    let fake = try FakeHelper(Self.waits + FakeHelper.says(0x81, length: 1007) + trickle, patience: 300)
    let server = try PlainServer(nil)
    #expect(await failure(fake.helper, server.request()) == Self.silent)
  }

  @Test func `another one takes over when the certificates have changed that the first may read`() throws {
    let folder = FileManager.default.temporaryDirectory.path + "/certificates-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let helper = realHelper(watched: [folder])
    let first = try helper.process()
    #expect(try helper.process() === first)
    // What is put into a folder, or takes another's place there, changes its time.
    try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: folder)
    #expect(try helper.process() !== first)
  }

  @Test func `one that is killed in the middle ends what waits`() async throws {
    let helper = realHelper()
    let server = try PlainServer(nil)
    let process = try helper.process()
    async let error = failure(helper, server.request())
    while !process.hasReceivers { try await Task.sleep(for: .milliseconds(5)) }
    kill(process.process, SIGKILL)
    #expect(await error == .unreachable("the helper vault-net was ended by signal 9; try again"))
    #expect(helper.hint == nil)
    let answering = try PlainServer(PlainServer.answer("again"))
    #expect(await failure(helper, answering.request()) == nil)
  }

  @Test func `one that is stopped is given up, and killed`() async throws {
    let helper = realHelper(patience: 300)
    let process = try helper.process()
    kill(process.process, SIGSTOP)
    let server = try PlainServer(PlainServer.answer("never"))
    #expect(await failure(helper, server.request()) == Self.silent)
    while kill(process.process, 0) == 0 { try await Task.sleep(for: .milliseconds(5)) }
  }

  @Test func `one that is stopped is given up however often it is asked for more`() async throws {
    let helper = realHelper(patience: 300)
    let process = try helper.process()
    kill(process.process, SIGSTOP)
    let server = try PlainServer(nil)
    let asking = Task {
      while !Task.isCancelled {
        Task { await failure(helper, server.request()) }
        try? await Task.sleep(for: .milliseconds(50))
      }
    }
    defer { asking.cancel() }
    #expect(await failure(helper, server.request()) == Self.silent)
  }

  @Test func `a login without a proof of the server is none`() async throws {
    let fake = try FakeHelper(Self.waits + Self.begun(try JID("ada@localhost/x")) + "; sleep 60")
    let account = try XMPPAccount(try JID("ada@localhost"))
    let password = try SecretBytes(copying: Array("a password".utf8).span.bytes)
    await #expect(throws: XMPPError.unreachable(NetFault.senseless.description)) {
      _ = try await fake.helper.connect(account, password: password)
    }
  }

  @Test func `an account that is made is the one that was asked for`() async throws {
    let password = try SecretBytes(copying: Array("a password".utf8).span.bytes)
    for (address, isTaken) in [("ada@localhost", true), ("ada@elsewhere", false), ("eve@localhost", false)] {
      let fake = try FakeHelper(Self.waits + Self.begun(try JID(address)) + "; sleep 60")
      let account = try XMPPAccount(try JID("ada@localhost"))
      let error: XMPPError?
      do throws(XMPPError) {
        try await fake.helper.register(account, password: password)
        error = nil
      } catch let other { error = other }
      #expect(error == (isTaken ? nil : .malformed("somebody else's address")), "\(address)")
    }
  }

  /// A prover whom every server convinces.
  private struct Credulous: ScramProver {
    func answer(_ question: ScramQuestion) async throws(XMPPError) -> [UInt8] { [] }
  }

  @Test(arguments: [
    ("ada@localhost/x", true), ("ada@localhost", true), ("ada@elsewhere/x", false), ("eve@localhost/x", false),
  ])
  func `a login is one of the account that was asked for, on whatever device`(_ address: String, _ isTaken: Bool)
    async throws
  {
    let account = try XMPPAccount(try JID("ada@localhost"))
    let message = try ConnectMessage(account, isRegistration: false)
    let proof = ScramQuestion.proof([]).encoded
    let answer = ScramQuestion.encode(.success([]))
    let rest = message.encoded.count + NetFrame.headByteCount + answer.count
    let fake = try FakeHelper(
      Self.waits + FakeHelper.says(0x85, length: proof.count, body: proof) + "; head -c \(rest) <&0 >/dev/null; "
        + Self.begun(try JID(address)) + "; sleep 60")
    let connection = NetConnection(account.address, Credulous())
    _ = try fake.helper.begin(connection) { [NetFrame(.connect, $0, message.encoded)] }
    let outcome: Result<JID, XMPPError>
    do throws(XMPPError) { outcome = .success(try await connection.beginning.value()) } catch {
      outcome = .failure(error)
    }
    #expect(outcome == (isTaken ? .success(try JID(address)) : .failure(.malformed("somebody else's address"))))
  }

  private static func begun(_ address: JID) -> String {
    FakeHelper.says(0x86, length: address.encoded.count, body: address.encoded)
  }

  @Test func `nobody who doesn't want to wait has to`() async throws {
    let fake = try FakeHelper("sleep 60")
    let helper = fake.helper
    let server = try PlainServer(nil)
    let task = Task { await failure(helper, server.request()) }
    while !((try? helper.process().hasReceivers) ?? false) { try await Task.sleep(for: .milliseconds(5)) }
    task.cancel()
    #expect(await task.value == .cancelled)
  }
}
