import Glibc
import Sodium

/// All memory of a process, read through the kernel, outside of what ``SecretBytes`` keeps.
///
/// What belongs to `SecretBytes` is told by what the kernel knows of it, without asking the program: pages between two
/// guard pages that may not be touched, and that are to be left out of core dumps.
package struct ProcessMemory {
  /// A place where something was found.
  package struct Finding: Hashable, Sendable, CustomStringConvertible {
    /// The secret's name.
    package let secret: String
    /// What lies there: a stack, the heap, a library's data.
    package let region: String
    /// Where.
    package let address: UInt
    /// A name and a place, never the bytes.
    package var description: String { "\(secret) at \(String(address, radix: 16)) in \(region)" }
  }

  /// What a search has seen.
  package struct Report: Sendable {
    /// Pieces of secrets, as words of eight bytes.
    package internal(set) var findings: [Finding] = []
    /// Bytes that were looked at.
    package internal(set) var scanned = 0
    /// Bytes that were left out because they are `SecretBytes`'.
    package internal(set) var leftOut = 0

    /// The secrets that were found, each once, with one of the places.
    package var summary: [String] {
      Dictionary(grouping: findings) { "\($0.secret) in \($0.region)" }.map { "\($0) (\($1.count) words)" }.sorted()
    }
  }

  /// Why memory could not be read.
  package struct Unreadable: Error, CustomStringConvertible {
    /// What failed, and the system's reason.
    package let description: String
  }

  private struct Region {
    let start: UInt
    let end: UInt
    let permissions: String
    let name: String
    var isLeftOutOfDumps = false

    var isGuard: Bool { permissions.hasPrefix("---") }
  }

  private let folder: String

  /// This process.
  package static var own: ProcessMemory { ProcessMemory(folder: "/proc/self") }
  /// Another process. Reading it takes the right to trace it.
  package static func of(_ process: Int32) -> ProcessMemory { ProcessMemory(folder: "/proc/\(process)") }

  /// Looks for every aligned word of every secret; `everywhere`, also in what `SecretBytes` keeps.
  package func search(for needles: Needles, everywhere: Bool = false) throws -> Report {
    let regions = try self.regions()
    let memory = open(folder + "/mem", O_RDONLY | O_CLOEXEC)
    guard memory >= 0 else { throw Self.failure("open \(folder)/mem") }
    defer { close(memory) }
    var report = Report()
    // Secret memory, so that what is read into it isn't found there again.
    var window = try SecretBytes(zeros: 1 << 20)
    let finder = Finder(needles)
    for (position, region) in regions.enumerated() {
      guard region.permissions.hasPrefix("r"), !region.name.hasPrefix("[v") else { continue }
      // Code and constants of files are the same for everybody.
      if region.permissions.hasPrefix("r-"), region.name.hasPrefix("/") { continue }
      if !everywhere, region.isLeftOutOfDumps, position > 0, position + 1 < regions.count,
        Self.isGuarded(region, regions[position - 1], regions[position + 1])
      {
        report.leftOut += Int(region.end - region.start)
        continue
      }
      window.withUnsafeMutableBytes { window in
        var address = region.start
        while address < region.end {
          let wanted = min(window.count, Int(region.end - address))
          let got = pread(memory, window.baseAddress, wanted, off_t(bitPattern: address))
          // A page that has gone meanwhile.
          guard got > 0 else {
            address += 4096
            continue
          }
          finder.look(at: UnsafeRawBufferPointer(rebasing: window[..<got]), from: address, in: region.name, &report)
          address += UInt(got)
        }
      }
    }
    return report
  }

  private static func isGuarded(_ region: Region, _ before: Region, _ after: Region) -> Bool {
    region.name.isEmpty && before.isGuard && after.isGuard && before.end == region.start && after.start == region.end
  }

  private static func failure(_ what: String) -> Unreadable {
    Unreadable(description: "can't \(what): \(String(cString: strerror(errno)))")
  }

  private func regions() throws -> [Region] {
    guard let file = fopen(folder + "/smaps", "re") else { throw Self.failure("open \(folder)/smaps") }
    defer { fclose(file) }
    var regions: [Region] = []
    var line: UnsafeMutablePointer<CChar>?
    var capacity = 0
    defer { free(line) }
    while getline(&line, &capacity, file) > 0, let start = line {
      let text = String(cString: start)
      let parts = text.split(whereSeparator: { $0 == " " || $0 == "\n" })
      if let first = parts.first, !first.hasSuffix(":"), parts.count >= 5 {
        let ends = first.split(separator: "-").compactMap { UInt($0, radix: 16) }
        guard ends.count == 2 else { continue }
        regions.append(
          Region(
            start: ends[0], end: ends[1], permissions: String(parts[1]),
            name: parts.dropFirst(5).joined(separator: " ")))
      } else if parts.first == "VmFlags:", !regions.isEmpty {
        regions[regions.count - 1].isLeftOutOfDumps = parts.contains("dd")
      }
    }
    guard !regions.isEmpty else { throw Unreadable(description: "\(folder)/smaps is empty") }
    return regions
  }
}

/// Compares words with those that are looked for; a table of their lowest bits answers nearly always.
private final class Finder {
  private let needles: Needles
  private let table: UnsafeMutablePointer<Bool>
  private static let tableMask: UInt64 = 0xFFFF

  init(_ needles: Needles) {
    self.needles = needles
    table = .allocate(capacity: Int(Self.tableMask) + 1)
    table.initialize(repeating: false, count: Int(Self.tableMask) + 1)
    for word in needles.words.keys { table[Int(word & Self.tableMask)] = true }
  }

  deinit { table.deallocate() }

  func look(
    at bytes: UnsafeRawBufferPointer, from address: UInt, in name: String, _ report: inout ProcessMemory.Report
  ) {
    guard let start = bytes.baseAddress else { return }
    let words = start.assumingMemoryBound(to: UInt64.self)
    let count = bytes.count / Needles.wordByteCount
    let table = table
    let mask = Needles.wordMask
    let tableMask = Self.tableMask
    var place = 0
    while place < count {
      let word = words[place] ^ mask
      if table[Int(truncatingIfNeeded: word & tableMask)], let number = needles.words[word] {
        report.findings.append(
          ProcessMemory.Finding(
            secret: needles.names[number], region: name.isEmpty ? "memory" : name,
            address: address + UInt(place * Needles.wordByteCount)))
      }
      place &+= 1
    }
    report.scanned += bytes.count
  }
}
