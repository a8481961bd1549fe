import Foundation
import Glibc
import ShamirKit
import Sodium
import Synchronization
import Testing
import VaultStore

@testable import SecretVault
@testable import VaultDaemon

@Suite("The agent's socket")
struct AgentServerTests {
  /// The folders of a vault that isn't there: the agent needs only one of them.
  private func folders() throws -> VaultFolders {
    let folders = VaultFolders(home: try TestFolder().path)
    for folder in [folders.data, folders.state] { mkdir(folder, 0o700) }
    return folders
  }

  private func remove(_ folders: VaultFolders) {
    try? FileManager.default.removeItem(atPath: (folders.data as NSString).deletingLastPathComponent)
  }

  private func start(_ folders: VaultFolders) throws -> AgentServer {
    try AgentServer.start(folders, memory: AgentMemory(timeout: { 600_000 }, note: { _ in }))
  }

  /// It waits for the agent however busy the machine is.
  private func client(_ folders: VaultFolders) -> AgentClient { AgentClient(folders, patience: 60_000) }

  @Test("what a command hands over comes back: key, ciphertext and passphrase")
  func exchange() throws {
    let folders = try folders()
    defer { remove(folders) }
    let server = try start(folders)
    defer { server.stop() }
    let client = client(folders)
    let id = try SecretID([UInt8](0..<16))
    var isEmpty = try client.secret(id) == nil
    isEmpty = try client.fileKey(of: id) == nil && isEmpty
    isEmpty = client.passphrase() == nil && isEmpty
    #expect(isEmpty)

    let file = try CiphertextFile(in: folders)
    let ciphertext = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    try ciphertext.withUnsafeBytes { try file.write($0, at: 0) }
    let key = try SecretBytes(random: 32)
    try client.keep(UnlockedSecret(key: key.duplicate(), ciphertext: file), as: id)
    guard let found = try client.secret(id), let foundKey = try client.fileKey(of: id) else {
      Issue.record("it isn't there")
      return
    }
    let isSame = found.key.matches(key) && foundKey.matches(key)
    #expect(isSame)
    var read = [UInt8](repeating: 0, count: 100_001)
    let count = try read.withUnsafeMutableBytes { try found.ciphertext.read(into: $0, at: 0) }
    #expect(count == 100_000 && read.dropLast().elementsEqual(ciphertext))
    // It can be read there, and not changed.
    #expect(throws: StoreError.self) { try ciphertext.withUnsafeBytes { try found.ciphertext.write($0, at: 0) } }

    let passphrase = try SecretBytes(random: 32)
    try client.keepPassphrase(passphrase.duplicate())
    let kept = client.passphrase()
    switch kept {
    case .some(let kept):
      let isKept = kept.matches(passphrase)
      #expect(isKept)
    case .none: Issue.record("the passphrase isn't there")
    }
    #expect(client.ids() == [id])
    try client.lockNow(id)
    #expect(client.quickStatus()?.secrets == [] && client.quickStatus()?.passphrase != nil)
    try client.lockNow(nil)
    #expect(client.quickStatus()?.passphrase == .some(nil))
  }

  @Test("a dead agent's socket is replaced, a living one's is not")
  func stale() throws {
    let folders = try folders()
    defer { remove(folders) }
    let dead = LocalSocket.listen(at: AgentServer.socketName, in: folders.state, waiting: 1)
    #expect(dead != nil)
    let server = try start(folders)
    #expect(client(folders).quickStatus() != nil)
    #expect(throws: VaultError.self) { _ = try start(folders) }
    #expect(client(folders).quickStatus() != nil)
    server.stop()
    #expect(client(folders).quickStatus() == nil)
    let next = try start(folders)
    #expect(client(folders).quickStatus() != nil)
    next.stop()
  }

  @Test("a ciphertext that isn't what the message says is refused, and so is none")
  func unfit() throws {
    let folders = try folders()
    defer { remove(folders) }
    let server = try start(folders)
    defer { server.stop() }
    func answer(_ byteCount: UInt64, _ descriptor: Int32) throws -> AgentAnswer? {
      let socket = try #require(LocalSocket.connect(to: AgentServer.socketName, in: folders.state))
      let key: SecretBytes? = try SecretBytes(random: 32)
      let request = AgentRequest.keepSecret(try SecretID([UInt8](0..<16)), byteCount: byteCount)
      let message = try request.message(key: key)
      let isSent = socket.send(message, descriptor: descriptor)
      #expect(isSent)
      #expect(socket.waitForMessage(milliseconds: 60_000))
      var buffer = try SecretBytes(zeros: AgentMessage.answerLimit)
      guard case .message(let count, _) = socket.receive(into: &buffer) else { return nil }
      return try AgentAnswer(message: buffer.bytes.extracting(first: count))
    }
    let file = try CiphertextFile(in: folders)
    try [UInt8](repeating: 1, count: 40).withUnsafeBytes { try file.write($0, at: 0) }
    #expect(try answer(40, file.descriptor) == .done)
    #expect(try answer(41, file.descriptor) == .refused(.unfitFile))
    #expect(try answer(40, -1) == .refused(.unfitFile))
    var ends: [Int32] = [-1, -1]
    try #require(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    #expect(try answer(0, ends[0]) == .refused(.unfitFile))
  }

  @Test("an agent that says nothing is given up once, and not asked again by the way")
  func silent() throws {
    let folders = try folders()
    defer { remove(folders) }
    let listener = LocalSocket.listen(at: AgentServer.socketName, in: folders.state, waiting: 8)
    #expect(listener != nil)
    let told = Atomic(0)
    let client = AgentClient(folders) { told.add(1, ordering: .relaxed) }
    #expect(client.ids() == [])
    let isNothing = try client.secret(try SecretID([UInt8](0..<16))) == nil
    #expect(isNothing)
    var connections = 0
    while listener?.accept() != nil { connections += 1 }
    #expect(connections == 1 && told.load(ordering: .relaxed) == 1)
  }
}
