import Glibc
import ShamirKit
import Sodium
import Synchronization
import Testing
import VaultStore

@testable import VaultDaemon

/// Clocks that only the test moves.
private final class TestClocks: Sendable {
  private let state = Mutex((awake: Int64(1_000_000_000), slept: Int64(5_000_000_000)))

  func pass(_ seconds: Double) { state.withLock { $0.awake += Int64(seconds * 1e9) } }
  func sleep(_ seconds: Double) { state.withLock { $0.slept += Int64(seconds * 1e9) } }

  var clock: SleepClock {
    SleepClock { [self] in
      state.withLock { SleepClock.Reading(awake: $0.awake, slept: ($0.slept - 10_000)...($0.slept + 10_000)) }
    }
  }
}

@Suite("What the agent keeps")
struct AgentMemoryTests {
  private let clocks = TestClocks()

  private func memory(timeout: Int64 = 10_000) -> AgentMemory {
    AgentMemory(clock: clocks.clock, timeout: { timeout }, note: { _ in })
  }

  private func id(_ number: UInt8) throws -> SecretID {
    try SecretID([UInt8](repeating: 7, count: SecretID.byteCount - 1) + [number])
  }

  private func keep(_ number: UInt8, in memory: AgentMemory) throws -> Bool {
    memory.keep(try id(number), try SecretBytes(random: 32), try Self.file(), byteCount: 0) == nil
  }

  static func file() throws -> CiphertextFile {
    let descriptor = open("/tmp", 0o20000000 | O_DIRECTORY | O_RDWR | O_CLOEXEC, 0o600)
    try #require(descriptor >= 0)
    return try CiphertextFile(owning: descriptor)
  }

  @Test("it is forgotten a time after its last use; a look at the list is none")
  func timeout() throws {
    let memory = memory()
    #expect(try keep(1, in: memory))
    #expect(try keep(2, in: memory))
    #expect(memory.keepPassphrase(try SecretBytes(random: 32)) == nil)
    clocks.pass(6)
    #expect(memory.secret(try id(1)) != nil)
    clocks.pass(3)
    #expect(memory.status().secrets.map(\.remaining) == [7000, 1000] && memory.status().passphrase == 1000)
    clocks.pass(2)
    #expect(memory.secret(try id(2)) == nil && memory.passphrase() == nil)
    #expect(memory.status().secrets.map(\.id) == [try id(1)])
    clocks.pass(5)
    #expect(memory.status().secrets.isEmpty && memory.isEmpty)
  }

  @Test("without a time only locking ends it")
  func forEver() throws {
    let memory = memory(timeout: 0)
    #expect(try keep(1, in: memory))
    clocks.pass(1e9)
    #expect(memory.status().secrets.map(\.remaining) == [0])
    #expect(memory.secret(try id(1)) != nil)
    memory.lock(try id(2))
    #expect(!memory.isEmpty)
    memory.lock(try id(1))
    #expect(memory.isEmpty)
    #expect(memory.secret(try id(1)) == nil)
  }

  @Test("nothing that was unlocked before the machine slept can be used afterwards, whoever asks first")
  func sleep() throws {
    for look in 0..<5 {
      let memory = memory(timeout: 0)
      #expect(try keep(1, in: memory))
      #expect(memory.keepPassphrase(try SecretBytes(random: 32)) == nil)
      clocks.pass(60)
      #expect(memory.secret(try id(1)) != nil && memory.passphrase() != nil)
      clocks.sleep(0.5)
      switch look {
      case 0: #expect(memory.secret(try id(1)) == nil)
      case 1: #expect(memory.passphrase() == nil)
      case 2: #expect(memory.status().secrets.isEmpty && memory.status().passphrase == nil)
      case 3: memory.expire()
      default: #expect(try keep(2, in: memory))
      }
      #expect(memory.secret(try id(1)) == nil && memory.passphrase() == nil)
      #expect(memory.isEmpty == (look != 4))
    }
  }

  @Test("what is unlocked after a sleep stays")
  func afterSleep() throws {
    let memory = memory()
    clocks.sleep(3600)
    #expect(try keep(1, in: memory))
    clocks.pass(1)
    #expect(memory.secret(try id(1)) != nil)
    clocks.sleep(1)
    #expect(memory.secret(try id(1)) == nil)
    #expect(try keep(1, in: memory))
    #expect(memory.secret(try id(1)) != nil)
  }

  @Test("once it is said that the machine is about to sleep nothing is kept until it is awake again")
  func aboutToSleep() throws {
    for end in 0..<3 {
      let memory = memory()
      #expect(try keep(1, in: memory))
      memory.prepareForSleep()
      #expect(memory.isEmpty)
      clocks.pass(5)
      let refusal = memory.keep(try id(1), try SecretBytes(random: 32), try Self.file(), byteCount: 0)
      #expect(refusal == .sleeping)
      #expect(memory.keepPassphrase(try SecretBytes(random: 32)) == .sleeping)
      #expect(memory.isEmpty && memory.passphrase() == nil)
      switch end {
      case 0: memory.awake()
      case 1: clocks.sleep(60)
      // Nobody said that it isn't going to sleep after all.
      default: clocks.pass(26)
      }
      #expect(try keep(1, in: memory))
      #expect(memory.keepPassphrase(try SecretBytes(random: 32)) == nil)
    }
  }

  @Test("a time that can't be read makes nothing stay longer: the last one known holds, and without it nothing is kept")
  func unreadableTimeout() throws {
    let timeout = Mutex<Int64?>(nil)
    let memory = AgentMemory(clock: clocks.clock, timeout: { timeout.withLock { $0 } }, note: { _ in })
    let refusal = memory.keep(try id(1), try SecretBytes(random: 32), try Self.file(), byteCount: 0)
    #expect(refusal == .noTimeout)
    #expect(memory.keepPassphrase(try SecretBytes(random: 32)) == .noTimeout && memory.isEmpty)
    timeout.withLock { $0 = 10_000 }
    #expect(try keep(1, in: memory))
    timeout.withLock { $0 = nil }
    clocks.pass(6)
    #expect(memory.status().secrets.map(\.remaining) == [4000])
    clocks.pass(5)
    memory.expire()
    #expect(memory.isEmpty)
  }

  @Test("it keeps so many secrets and no more, but takes one of them again")
  func full() throws {
    let memory = memory()
    for number in 0..<AgentMessage.secretLimit { #expect(try keep(UInt8(number), in: memory)) }
    #expect(try keep(200, in: memory) == false)
    #expect(try keep(3, in: memory))
    memory.lock(try id(3))
    #expect(try keep(200, in: memory))
  }

  @Test("being held up while the clocks are read is never taken for sleep")
  func heldUp() {
    let early = SleepClock.Reading(awake: 0, slept: 0...20_000)
    let heldUp = SleepClock.Reading(awake: 10_000_000_000, slept: -9_000_000_000...15_000)
    #expect(!heldUp.hasSlept(since: early) && !early.hasSlept(since: heldUp))
    #expect(SleepClock.Reading(awake: 0, slept: 500_000_000...500_010_000).hasSlept(since: early))
    let first = SleepClock.system.read()
    for _ in 0..<1000 {
      let next = SleepClock.system.read()
      #expect(!next.hasSlept(since: first) && next.awake >= first.awake)
    }
  }
}
