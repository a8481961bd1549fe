import ShamirKit
import Sodium
import Synchronization
import VaultStore

/// What the agent keeps unlocked, each in locked memory, until it is locked, nobody has used it for some time, or the
/// machine has slept.
///
/// Nothing that was unlocked before a sleep can be had after it: every method looks at the clocks first.
final class AgentMemory: Sendable {
  /// A key that several may look at while it is handed out; it is wiped with the last of them.
  final class Key: Sendable {
    let bytes: SecretBytes
    init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
  }

  private struct Entry {
    let key: Key
    var ciphertext: CiphertextFile?
    var byteCount: UInt64 = 0
    /// By the clock that stands still while the machine sleeps.
    var lastUse: Int64
  }

  private struct State {
    var passphrase: Entry?
    var secrets: [SecretID: Entry] = [:]
    /// The reading since when something is kept.
    var reading: SleepClock.Reading?
    /// The time without use, as it was last known, and when it was looked up.
    var timeout: (milliseconds: Int64, at: Int64)?
    /// When it was said that the machine is about to sleep, until it has or doesn't.
    var announced: SleepClock.Reading?

    var isEmpty: Bool { passphrase == nil && secrets.isEmpty }
  }

  private let state = Mutex(State())
  private let clock: SleepClock
  private let timeout: @Sendable () -> Int64?
  private let note: @Sendable (String) -> Void

  /// Milliseconds, awake, in which the machine must have gone to sleep after it was said that it will.
  private static let sleepPatience: Int64 = 30_000

  /// `timeout` says how many milliseconds what isn't used stays, 0 for as long as it isn't locked, and nil if that
  /// can't be said now: then what was said last holds, and without it nothing is kept. `note` is told, in words, what
  /// is unlocked and locked.
  init(
    clock: SleepClock = .system, timeout: @escaping @Sendable () -> Int64?, note: @escaping @Sendable (String) -> Void
  ) {
    self.clock = clock
    self.timeout = timeout
    self.note = note
  }

  var isEmpty: Bool { state.withLock { $0.isEmpty } }

  // MARK: - Unlocking

  /// Takes the vault's stretched passphrase. Says why if it doesn't keep it.
  func keepPassphrase(_ key: consuming SecretBytes) -> AgentAnswer.Refusal? {
    let key = Key(key)
    var refusal: AgentAnswer.Refusal?
    change { state, now in
      refusal = Self.refusal(state)
      guard refusal == nil else { return [] }
      state.passphrase = Entry(key: key, lastUse: now)
      return ["the vault is unlocked"]
    }
    return refusal
  }

  /// Says why if it doesn't.
  func keep(
    _ id: SecretID, _ key: consuming SecretBytes, _ ciphertext: CiphertextFile, byteCount: UInt64
  ) -> AgentAnswer.Refusal? {
    let key = Key(key)
    var refusal: AgentAnswer.Refusal?
    change { state, now in
      refusal = Self.refusal(state)
      if refusal == nil, state.secrets[id] == nil, state.secrets.count >= AgentMessage.secretLimit { refusal = .full }
      guard refusal == nil else { return [] }
      state.secrets[id] = Entry(key: key, ciphertext: ciphertext, byteCount: byteCount, lastUse: now)
      return ["secret \(id) is unlocked"]
    }
    return refusal
  }

  /// Why nothing at all is kept now.
  private static func refusal(_ state: State) -> AgentAnswer.Refusal? {
    if state.announced != nil { return .sleeping }
    return state.timeout == nil ? .noTimeout : nil
  }

  // MARK: - Use

  /// Stretched.
  func passphrase() -> Key? {
    var found: Key?
    change { state, now in
      state.passphrase?.lastUse = now
      found = state.passphrase?.key
      return []
    }
    return found
  }

  func secret(_ id: SecretID) -> (key: Key, ciphertext: CiphertextFile, byteCount: UInt64)? {
    var found: (Key, CiphertextFile, UInt64)?
    change { state, now in
      state.secrets[id]?.lastUse = now
      if let entry = state.secrets[id], let ciphertext = entry.ciphertext {
        found = (entry.key, ciphertext, entry.byteCount)
      }
      return []
    }
    return found
  }

  func status() -> AgentStatus {
    var status = AgentStatus(timeout: 0, passphrase: nil, secrets: [])
    change { state, now in
      let timeout = state.timeout?.milliseconds ?? 0
      func remaining(_ entry: Entry) -> UInt64 {
        timeout > 0 ? UInt64(max(1, entry.lastUse + timeout - now)) : 0
      }
      status = AgentStatus(
        timeout: UInt64(max(0, timeout)), passphrase: state.passphrase.map(remaining),
        secrets: state.secrets.map { AgentStatus.Entry(id: $0.key, remaining: remaining($0.value)) })
      return []
    }
    return status
  }

  // MARK: - Locking

  func lock(_ id: SecretID) {
    change { state, _ in state.secrets.removeValue(forKey: id) == nil ? [] : ["secret \(id) is locked"] }
  }

  /// `reason` is for the log.
  func lockAll(_ reason: String) { change { state, _ in Self.forgetAll(&state, reason) } }

  /// The machine is about to sleep: forgets everything, and keeps nothing until ``awake()``, or until the clocks tell
  /// that it has slept, or it is clear that it doesn't. Who was told of the sleep no longer holds it up when something
  /// would be kept.
  func prepareForSleep() {
    change { state, _ in
      state.announced = self.clock.read()
      return Self.forgetAll(&state, "the machine goes to sleep")
    }
  }

  /// The machine is awake again, or didn't go to sleep after all.
  func awake() {
    change { state, _ in
      state.announced = nil
      return []
    }
  }

  /// Forgets what is due. To be called about once a second while something is kept.
  func expire() {
    guard !isEmpty else { return }
    // The setting is looked up now and then only, for that means reading a file.
    change(lookingUpAfter: 5000) { _, _ in [] }
  }

  private static func forgetAll(_ state: inout State, _ reason: String) -> [String] {
    guard !state.isEmpty else { return [] }
    state.passphrase = nil
    state.secrets = [:]
    state.reading = nil
    return ["everything is locked: \(reason)"]
  }

  /// Forgets what is due, then runs `body` with the time; tells what both say when the lock is free again.
  private func change(lookingUpAfter age: Int64 = 0, _ body: (inout State, _ now: Int64) -> [String]) {
    let reading = clock.read()
    let known = state.withLock { $0.timeout }
    let isRecent = known.map { reading.milliseconds - $0.at < age } ?? false
    let timeout = isRecent ? nil : self.timeout()
    let notes = state.withLock { state in
      if let last = timeout ?? (isRecent ? nil : known?.milliseconds) { state.timeout = (last, reading.milliseconds) }
      if let announced = state.announced,
        reading.hasSlept(since: announced) || reading.milliseconds - announced.milliseconds >= Self.sleepPatience
      {
        state.announced = nil
      }
      // Without a time nothing is kept, so that any does.
      var notes = Self.forgetDue(&state, at: reading, state.timeout?.milliseconds ?? 0)
      notes += body(&state, reading.milliseconds)
      if state.isEmpty { state.reading = nil } else if state.reading == nil { state.reading = reading }
      return notes
    }
    for line in notes { note(line) }
  }

  private static func forgetDue(_ state: inout State, at reading: SleepClock.Reading, _ timeout: Int64) -> [String] {
    if let earlier = state.reading, reading.hasSlept(since: earlier) {
      return forgetAll(&state, "the machine has slept")
    }
    guard timeout > 0 else { return [] }
    var notes: [String] = []
    func isDue(_ entry: Entry) -> Bool { reading.milliseconds - entry.lastUse >= timeout }
    if let passphrase = state.passphrase, isDue(passphrase) {
      state.passphrase = nil
      notes.append("the vault is locked: it was not used for some time")
    }
    for (id, entry) in state.secrets where isDue(entry) {
      state.secrets[id] = nil
      notes.append("secret \(id) is locked: it was not used for some time")
    }
    return notes
  }
}
