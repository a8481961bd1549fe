import Concurrency
import Dispatch
import Glibc
import Logging
import SystemBus

/// Has everything locked *before* the machine sleeps, where the system's bus and logind say when: asks logind to wait a
/// moment with each sleep (an inhibitor lock of mode `delay`, org.freedesktop.login1(5)) until that is done.
///
/// Without a bus, or when it goes away, nothing that was unlocked can be used after a sleep either (``SleepClock``),
/// but the keys lie in memory while the machine sleeps, and in its image on the disk if it hibernates.
final class SleepWatch: Sendable {
  /// Seconds until a bus that is not there is looked for again, and until one that has just gone is.
  private static let pause: Int32 = 60
  private static let firstPause: Int32 = 2
  private static let bus = "org.freedesktop.DBus"
  private static let login = "org.freedesktop.login1"
  private static let manager = "org.freedesktop.login1.Manager"
  private static let loginPath = "/org/freedesktop/login1"

  private let paths: [String]
  private let log: Logger
  private let sleeping: @Sendable () -> Void
  private let awake: @Sendable () -> Void
  private let stopping: (read: Int32, write: Int32)
  private let ended = DispatchSemaphore(value: 0)

  /// Watches the first bus of `paths` that is there; `sleeping` is called before each sleep, `awake` after it. Nil if
  /// the system has no thread left.
  static func start(
    paths: [String], log: Logger, sleeping: @escaping @Sendable () -> Void, awake: @escaping @Sendable () -> Void
  ) -> SleepWatch? {
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      return nil
    }
    let watch = SleepWatch(paths, log, sleeping, awake, (ends[0], ends[1]))
    return BackgroundThread.start { watch.run() } ? watch : nil
  }

  private init(
    _ paths: [String], _ log: Logger, _ sleeping: @escaping @Sendable () -> Void,
    _ awake: @escaping @Sendable () -> Void, _ stopping: (Int32, Int32)
  ) {
    self.paths = paths
    self.log = log
    self.sleeping = sleeping
    self.awake = awake
    self.stopping = stopping
  }

  deinit {
    close(stopping.read)
    close(stopping.write)
  }

  /// Within a second, also where the bus says nothing.
  func stop() {
    _ = write(stopping.write, "", 1)
    _ = ended.wait(timeout: .now() + 1)
  }

  private func run() {
    defer { ended.signal() }
    var wasWatching = true
    while true {
      for path in paths {
        do throws(BusConnection.Failure) {
          try watch(path) { wasWatching = true }
          return
        } catch {
          log.debug("the system's bus at \(path): \(error)")
        }
      }
      let pause = wasWatching ? Self.firstPause : Self.pause
      if wasWatching {
        log.info("nobody tells when the machine goes to sleep; what is unlocked is locked when it wakes up")
        wasWatching = false
      }
      var wait = pollfd(fd: stopping.read, events: Int16(POLLIN), revents: 0)
      if poll(&wait, 1, pause * 1000) > 0 { return }
    }
  }

  /// Watches a bus until ``stop()``; throws when the bus is no more.
  private func watch(_ path: String, began: () -> Void) throws(BusConnection.Failure) {
    var connection = try BusConnection.open(path: path)
    try match(&connection, Self.login, Self.loginPath, Self.manager, "PrepareForSleep")
    // logind may be started anew, and then has forgotten.
    try match(&connection, Self.bus, "/org/freedesktop/DBus", Self.bus, "NameOwnerChanged", ",arg0='\(Self.login)'")
    var (lock, owner) = try inhibit(&connection)
    func release() {
      if lock >= 0 { close(lock) }
      lock = -1
    }
    defer { release() }
    log.info("told before the machine goes to sleep")
    began()
    while let signal = try connection.nextSignal(orInput: stopping.read) {
      switch (signal.interface, signal.member) {
      case (Self.manager, "PrepareForSleep") where signal.sender == owner && signal.body == [.flag(true)]:
        sleeping()
        // That is what the machine waits for.
        release()
      case (Self.manager, "PrepareForSleep") where signal.sender == owner && signal.body == [.flag(false)]:
        release()
        (lock, owner) = try inhibit(&connection)
        awake()
      case (Self.bus, "NameOwnerChanged") where signal.sender == Self.bus:
        release()
        (lock, owner) = try inhibit(&connection)
      default: break
      }
    }
  }

  private func match(
    _ connection: inout BusConnection, _ sender: String, _ path: String, _ interface: String, _ member: String,
    _ more: String = ""
  ) throws(BusConnection.Failure) {
    let rule = "type='signal',sender='\(sender)',path='\(path)',interface='\(interface)',member='\(member)'" + more
    _ = try connection.call("AddMatch", of: Self.bus, at: "/org/freedesktop/DBus", to: Self.bus, [.text(rule)])
  }

  /// Asks logind to wait before each sleep, as long as the descriptor is open. Also returns who logind is on the bus.
  private func inhibit(_ connection: inout BusConnection) throws(BusConnection.Failure) -> (Int32, String?) {
    let (reply, descriptor) = try connection.call(
      "Inhibit", of: Self.manager, at: Self.loginPath, to: Self.login,
      [.text("sleep"), .text("vault"), .text("lock what is unlocked"), .text("delay")])
    guard descriptor >= 0 else { throw .misunderstood(.malformed) }
    return (descriptor, reply.sender)
  }
}
