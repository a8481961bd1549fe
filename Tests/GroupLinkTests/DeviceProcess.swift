import Foundation
import Glibc
import Testing

/// A running `GroupDevice` (`Tests/GroupDevice`), which takes a command at a time.
final class DeviceProcess {
  /// What befalls its disk.
  enum Fault {
    /// SIGKILL just before the n-th change of the disk.
    case killed(at: Int)
    /// From the n-th change on the disk is full.
    case full(at: Int)
    /// Changes are written to this file, a line each.
    case counted(log: String)

    fileprivate func environment(below folder: String) -> [String: String] {
      var variables = ["LD_PRELOAD": ServerProcess.products + "/libFaultInjection.so", "VAULT_FAULT_BELOW": folder]
      switch self {
      case .killed(let number):
        variables["VAULT_FAULT_AT"] = "\(number)"
        variables["VAULT_FAULT_DEED"] = "kill"
      case .full(let number):
        variables["VAULT_FAULT_AT"] = "\(number)"
        variables["VAULT_FAULT_DEED"] = "failing"
        variables["VAULT_FAULT_ERROR"] = "ENOSPC"
      case .counted(let log): variables["VAULT_FAULT_LOG"] = log
      }
      return variables
    }
  }

  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var rest: [UInt8] = []

  init(folder: String, _ fault: Fault? = nil) throws {
    process.executableURL = URL(fileURLWithPath: ServerProcess.products + "/GroupDevice")
    process.arguments = [folder]
    process.environment = ProcessInfo.processInfo.environment.merging(fault?.environment(below: folder) ?? [:]) { $1 }
    process.standardInput = input
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
  }

  deinit { end() }

  /// Gives a command and waits for its answer; nil if the process has ended.
  func ask(_ command: String) -> String? {
    let line = Array((command + "\n").utf8)
    let descriptor = input.fileHandleForWriting.fileDescriptor
    guard line.withUnsafeBytes({ write(descriptor, $0.baseAddress, $0.count) }) == line.count else { return nil }
    let deadline = ContinuousClock.now + .seconds(120)
    while ContinuousClock.now < deadline {
      if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        defer { rest.removeFirst(end + 1) }
        return String(decoding: rest[..<end], as: UTF8.self)
      }
      let hasEnded = !process.isRunning
      guard let more = read(), !more.isEmpty || !hasEnded else { return nil }
      rest += more
    }
    return nil
  }

  /// What has come, waiting for a moment; nil at the end.
  private func read() -> [UInt8]? {
    let descriptor = output.fileHandleForReading.fileDescriptor
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&waiting, 1, 100) > 0 else { return [] }
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = Glibc.read(descriptor, &buffer, buffer.count)
    return count > 0 ? Array(buffer[..<count]) : nil
  }

  /// SIGKILL, if it still runs.
  func end() {
    guard process.isRunning else { return }
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }
}
