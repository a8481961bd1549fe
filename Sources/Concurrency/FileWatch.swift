import Glibc
import Synchronization

/// Strikes pulses when files are touched or replaced, by whichever process: one inotify(7) instance and one thread for all of
/// them, as a user may have few instances.
package final class FileWatch: Sendable {
  private struct Entry {
    let number: UInt64
    let name: String
    let pulses: [Pulse]
  }

  private struct State {
    /// By inotify's number of the folder.
    var entries: [Int32: [Entry]] = [:]
    var lastNumber: UInt64 = 0
  }

  /// Nil where the system has no instance, or no thread, left.
  private static let shared = FileWatch()

  private let descriptor: Int32
  private let state = Mutex(State())
  /// Events are up to this long, the longest name included.
  private static let eventLimit = MemoryLayout<inotify_event>.size + Int(NAME_MAX) + 1

  private init?() {
    descriptor = inotify_init1(Int32(IN_CLOEXEC))
    guard descriptor >= 0 else { return nil }
    guard BackgroundThread.start({ [self] in listen() }) else {
      close(descriptor)
      return nil
    }
  }

  /// A file that is watched, until this goes.
  package struct Watched: ~Copyable, Sendable {
    fileprivate let folder: Int32
    fileprivate let number: UInt64

    deinit { FileWatch.shared?.forget(folder, number) }

    /// Whether changes are noticed still; not once the file's folder was removed.
    package var isAlive: Bool { FileWatch.shared?.isWatched(folder, number) == true }
  }

  /// Strikes the pulses whenever the file at an absolute path is touched, or another one is put in its place. Nil if that can't be
  /// noticed here.
  package static func watch(_ path: String, _ pulses: Pulse...) -> Watched? {
    guard let slash = path.lastIndex(of: "/") else { return nil }
    return shared?.watch(String(path[path.index(after: slash)...]), in: String(path[...slash]), pulses)
  }

  private func watch(_ name: String, in folder: String, _ pulses: [Pulse]) -> Watched? {
    // Within the lock: of a folder that somebody forgets in this moment there would be no watch left.
    state.withLock { state in
      let place = inotify_add_watch(descriptor, folder, UInt32(IN_ATTRIB | IN_MOVED_TO | IN_ONLYDIR))
      guard place >= 0 else { return nil }
      state.lastNumber += 1
      state.entries[place, default: []].append(Entry(number: state.lastNumber, name: name, pulses: pulses))
      return Watched(folder: place, number: state.lastNumber)
    }
  }

  private func forget(_ folder: Int32, _ number: UInt64) {
    state.withLock { state in
      state.entries[folder]?.removeAll { $0.number == number }
      guard state.entries[folder]?.isEmpty == true else { return }
      state.entries[folder] = nil
      inotify_rm_watch(descriptor, folder)
    }
  }

  private func isWatched(_ folder: Int32, _ number: UInt64) -> Bool {
    state.withLock { $0.entries[folder]?.contains { $0.number == number } == true }
  }

  private func listen() {
    var buffer = [UInt8](repeating: 0, count: 16 * Self.eventLimit)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      guard count > 0 else {
        guard count < 0, errno == EINTR else { return }
        continue
      }
      for pulse in pulses(of: buffer[..<count]) { pulse.strike() }
    }
  }

  private func pulses(of bytes: ArraySlice<UInt8>) -> [Pulse] {
    var found: [Pulse] = []
    bytes.withUnsafeBytes { bytes in
      var offset = 0
      while offset + MemoryLayout<inotify_event>.size <= bytes.count {
        let event = bytes.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
        let start = offset + MemoryLayout<inotify_event>.size
        let end = min(start + Int(event.len), bytes.count)
        let name = String(decoding: bytes[start..<end].prefix { $0 != 0 }, as: UTF8.self)
        found += state.withLock { state in
          // The system may have had too many to tell of each.
          if event.wd < 0 { return state.entries.values.flatMap { $0.flatMap(\.pulses) } }
          // The folder is gone, and nothing more will be told of it.
          let isGone = event.mask & UInt32(IN_IGNORED) != 0
          let entries = isGone ? state.entries.removeValue(forKey: event.wd) : state.entries[event.wd]
          return (entries ?? []).filter { isGone || $0.name == name }.flatMap(\.pulses)
        }
        offset = end
      }
    }
    return found
  }
}
