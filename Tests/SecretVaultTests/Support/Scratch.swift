import Dispatch
import Glibc
import PeerAuth
import Sodium
import Testing

@testable import SecretVault
@testable import VaultStore

/// All tests of this module, one after the other. What waits for something that never happens is told of.
@Suite(.timeLimit(.minutes(5))) struct VaultTests {}

/// A folder of its own, removed when the test ends; in memory where there is such a file system, because a vault waits for
/// its disk many times.
final class Scratch: Sendable {
  let path: String

  init() throws {
    let base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
    var template = Array("\(base)/vault-tests-XXXXXX".utf8CString)
    path = try #require(mkdtemp(&template).map { String(cString: $0) })
  }

  deinit {
    for file in files(below: path, folders: true) { if unlink(file) != 0 { rmdir(file) } }
    rmdir(path)
  }

  /// Writes a file and returns its path.
  func write(_ bytes: [UInt8], as name: String) throws -> String {
    let file = path + "/" + name
    let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.write(descriptor, $0.baseAddress.map { $0 + done }, bytes.count - done)
      }
      try #require(count > 0)
      done += count
    }
    return file
  }

  func makeFolder(_ name: String) -> String {
    mkdir(path + "/" + name, 0o700)
    return path + "/" + name
  }
}

/// Files below a folder; with `folders`, folders too, each behind what it contains.
func files(below path: String, folders: Bool = false) -> [String] {
  var found: [String] = []
  for name in (try? FileNames.list(path)) ?? [] {
    let entry = path + "/" + name
    var status = stat()
    guard lstat(entry, &status) == 0 else { continue }
    if status.st_mode & S_IFMT == S_IFDIR {
      found += files(below: entry, folders: folders)
      if folders { found.append(entry) }
    } else {
      found.append(entry)
    }
  }
  return found
}

/// Files below a folder that this process has open, once for each descriptor.
func openFiles(below path: String) -> [String] {
  let descriptors = (try? FileNames.list("/proc/self/fd")) ?? []
  return descriptors.compactMap { descriptor in
    var target = [UInt8](repeating: 0, count: 4096)
    let count = readlink("/proc/self/fd/\(descriptor)", &target, target.count)
    guard count > 0 else { return nil }
    let file = String(decoding: target[..<count], as: UTF8.self)
    return file.hasPrefix(path + "/") ? file : nil
  }
}

/// What a file holds, or nil if there is none.
func contents(_ path: String) -> [UInt8]? {
  let descriptor = open(path, O_RDONLY)
  guard descriptor >= 0 else { return nil }
  defer { close(descriptor) }
  return contents(of: descriptor)
}

/// Everything up to the end of a descriptor.
func contents(of descriptor: Int32) -> [UInt8] {
  var bytes: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 1 << 18)
  while true {
    let count = read(descriptor, &chunk, chunk.count)
    guard count > 0 else { return bytes }
    bytes += chunk[..<count]
  }
}

/// Whether `pattern` stands somewhere in `bytes`.
func contains(_ bytes: [UInt8], _ pattern: [UInt8]) -> Bool {
  guard let first = pattern.first, bytes.count >= pattern.count else { return false }
  return bytes.withUnsafeBufferPointer { whole in
    pattern.withUnsafeBufferPointer { part in
      guard let start = whole.baseAddress, let wanted = part.baseAddress else { return false }
      var offset = 0
      while whole.count - offset >= part.count {
        guard let hit = memchr(start + offset, Int32(first), whole.count - part.count + 1 - offset) else {
          return false
        }
        if memcmp(hit, wanted, part.count) == 0 { return true }
        offset = UnsafeRawPointer(hit) - UnsafeRawPointer(start) + 1
      }
      return false
    }
  }
}

/// Changes one byte of a file.
func damage(_ path: String, at offset: Int) throws {
  let descriptor = open(path, O_RDWR)
  try #require(descriptor >= 0)
  defer { close(descriptor) }
  var byte: UInt8 = 0
  try #require(pread(descriptor, &byte, 1, offset) == 1)
  byte ^= 0x20
  try #require(pwrite(descriptor, &byte, 1, offset) == 1)
}

func randomBytes(_ count: Int) -> [UInt8] { (try? Randomness.bytes(count)) ?? [] }

/// The vault's error of an operation that must fail.
func refusal<Value>(_ operation: () async throws -> Value) async -> VaultError? {
  do {
    _ = try await operation()
    return nil
  } catch {
    return VaultError(known: error)
  }
}

func secretBytes(_ text: String) throws -> SecretBytes { try SecretBytes(copying: Array(text.utf8).span.bytes) }

/// The names in a folder.
struct FileList {
  let names: [String]
  init(_ folder: String) throws { names = try FileNames.list(folder) }
}

/// Removes a file; false if there was none.
func remove(_ path: String) -> Bool { unlink(path) == 0 }

/// Runs what may block on a thread of its own.
func inBackground(_ body: @escaping @Sendable () -> Void) { DispatchQueue.global().async(execute: body) }
