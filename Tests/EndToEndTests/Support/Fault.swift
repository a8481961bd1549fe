import Foundation
import Glibc
import Testing

/// What befalls one run of `vault`: its disk fails at a chosen step, or the process is killed there.
///
/// A step is a call that changes something below the peer's folders: making, writing, syncing, renaming, linking, removing.
/// The library that counts them is `Tests/FaultInjection`.
struct Fault: Sendable, Hashable, CustomStringConvertible {
  enum Deed: String, Sendable, CaseIterable, CustomTestStringConvertible {
    /// `kill -9` just before the step.
    case kill
    /// The step, and it alone, fails with an input/output error.
    case error
    /// No room from the step on; the first write is cut short.
    case fullDisk
    /// The file system is read-only from the step on.
    case readOnly
    /// The thread that takes the step never gets on: as with a disk that doesn't answer.
    case hang

    /// What a run can be left to bear by itself.
    static let allCases = [Self.kill, .error, .fullDisk, .readOnly]

    var testDescription: String { rawValue }
  }

  var deed: Deed
  /// Number of the step, from 1; 0 leaves all steps alone.
  var step = 0
  /// Counts only steps whose name and path contain this.
  var only = ""

  var description: String {
    step == 0 ? "no fault" : "\(deed.rawValue) at step \(step)\(only.isEmpty ? "" : " of those with \"\(only)\"")"
  }

  /// The library, beside the programs.
  static var library: String { Bench.products + "/libFaultInjection.so" }

  /// Whether the library can be preloaded: into a program that a sanitizer watches it can't.
  static let isPossible: Bool = {
    if Sanitizer.isAtWork { print("tests with faults of the disk are left out: a sanitizer is at work") }
    return !Sanitizer.isAtWork
  }()

  /// What the library reads.
  func environment(below folder: String, log: String) -> [String: String] {
    var variables = [
      "LD_PRELOAD": Self.library, "VAULT_FAULT_BELOW": folder, "VAULT_FAULT_LOG": log, "VAULT_FAULT_ONLY": only,
    ]
    variables["VAULT_FAULT_AT"] = "\(step)"
    switch deed {
    case .kill: variables["VAULT_FAULT_DEED"] = "kill"
    case .error: variables["VAULT_FAULT_DEED"] = "fail"
    case .hang: variables["VAULT_FAULT_DEED"] = "hang"
    case .fullDisk, .readOnly: variables["VAULT_FAULT_DEED"] = "failing"
    }
    variables["VAULT_FAULT_ERROR"] = deed == .fullDisk ? "ENOSPC" : deed == .readOnly ? "EROFS" : "EIO"
    return variables
  }
}

/// The steps that a run took.
struct FaultTrace: Sendable {
  struct Step: Sendable {
    let name: String
    let path: String
  }

  let steps: [Step]
  /// The step that the fault met, or nil if the run never came so far.
  let met: Step?

  init(log: String) {
    let lines = ((try? String(contentsOfFile: log, encoding: .utf8)) ?? "").split(separator: "\n")
    var steps: [Step] = []
    var met: Step?
    for line in lines {
      let parts = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 3 else { continue }
      let step = Step(name: parts[1], path: parts[2])
      steps.append(step)
      if parts[0].hasPrefix("!"), met == nil { met = step }
    }
    self.steps = steps
    self.met = met
  }

  /// The numbers of the steps, from 1, that are worth a visit of their own: of writes to one file in a row any one, and
  /// everything else.
  func visits(_ random: inout SplitMix) -> [Int] {
    var visits: [Int] = []
    var start = 0
    while start < steps.count {
      var end = start + 1
      while end < steps.count, steps[start].name == "write", steps[end].name == "write",
        steps[end].path == steps[start].path
      {
        end += 1
      }
      visits.append(Int.random(in: start..<end, using: &random) + 1)
      start = end
    }
    return visits
  }
}

/// A run of a program under a fault.
final class FaultyRun: Sendable {
  let child: Child
  private let log: String

  init(_ peer: Peer, _ arguments: [String], _ fault: Fault) throws {
    log = peer.bench.folder + "/" + UUID().uuidString + ".steps"
    child = try peer.bench.start(
      Bench.vault, arguments,
      environment: peer.environment.merging(fault.environment(below: peer.base, log: log)) { $1 }, folder: peer.folder)
  }

  /// The steps so far.
  var trace: FaultTrace { FaultTrace(log: log) }

  /// Waits for the end.
  func end(within limit: Double = 240) async throws -> (outcome: Outcome, trace: FaultTrace) {
    let outcome = try await child.end(within: limit)
    return (outcome, trace)
  }
}

/// A generator whose numbers follow from its seed (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014).
struct SplitMix: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
