package import CShims
import Glibc

/// Which system calls the kernel still carries out for this process: a program for its filter (seccomp-BPF). A call that
/// no rule allows ends the process.
package struct SystemCallFilter {
  /// What a rule asks of one argument. Only the lower half of an argument is looked at but where it is a pointer: all others
  /// are 32-bit values to the kernel.
  package enum Demand {
    case oneOf(_ argument: UInt32, [UInt32])
    /// None of these bits is set.
    case without(_ argument: UInt32, UInt32)
    /// At least one of these bits is set.
    case with(_ argument: UInt32, UInt32)
    /// A pointer to nothing: both halves are zero.
    case null(_ argument: UInt32)
  }

  /// Offsets in the `struct seccomp_data` that the kernel lays before the program. Both kinds of machine that have a
  /// filter are little-endian.
  private enum Field {
    static let number: UInt32 = 0
    static let architecture: UInt32 = 4
    static func argument(_ index: UInt32) -> UInt32 { 16 + 8 * index }
  }

  package private(set) var instructions: [sock_filter] = []

  package init() {
    load(Field.architecture)
    jump(BPF_JEQ, vault_audit_architecture, ifTrue: 1, ifFalse: 0)
    end(SECCOMP_RET_KILL_PROCESS)
  }

  /// Allows a call whose arguments meet all demands. Several rules for one call are alternatives.
  package mutating func allow(_ call: Int32, _ demands: Demand...) { add(call, demands, SECCOMP_RET_ALLOW) }

  /// Lets a call fail with "permission denied" instead of ending the process: for what libraries try and can do without.
  package mutating func refuse(_ call: Int32, _ error: Int32 = EACCES) {
    add(call, [], SECCOMP_RET_ERRNO | UInt32(bitPattern: error))
  }

  /// Ends the process for a call.
  package mutating func forbid(_ call: Int32) { add(call, [], SECCOMP_RET_KILL_PROCESS) }

  /// Puts the filter into force for good. A call that no rule is about ends the process, or fails with `error` if there is
  /// one. False where the kernel has no filter.
  package func install(failingWith error: Int32? = nil) -> Bool {
    var program = instructions
    let action = error.map { SECCOMP_RET_ERRNO | UInt32(bitPattern: $0) } ?? SECCOMP_RET_KILL_PROCESS
    program.append(Self.instruction(BPF_RET | BPF_K, action))
    guard vault_audit_architecture != 0, let count = UInt16(exactly: program.count) else { return false }
    return vault_filter_system_calls(program, count) == 0
  }

  private mutating func add(_ call: Int32, _ demands: [Demand], _ action: UInt32) {
    // Each step, and how many instructions it takes, is known before the jumps over them are written.
    var steps: [sock_filter] = [Self.instruction(BPF_RET | BPF_K, action)]
    for demand in demands.reversed() {
      let beyond = UInt8(truncatingIfNeeded: steps.count)
      switch demand {
      case .oneOf(let argument, let values):
        var tests: [sock_filter] = []
        for (position, value) in values.enumerated() {
          let last = position == values.count - 1
          tests.append(
            Self.jump(
              BPF_JEQ, value, ifTrue: UInt8(truncatingIfNeeded: values.count - 1 - position), ifFalse: last ? beyond : 0
            ))
        }
        steps = [Self.load(Field.argument(argument))] + tests + steps
      case .without(let argument, let bits):
        steps = [Self.load(Field.argument(argument)), Self.jump(BPF_JSET, bits, ifTrue: beyond, ifFalse: 0)] + steps
      case .null(let argument):
        for half in [Field.argument(argument) + 4, Field.argument(argument)] {
          let beyond = UInt8(truncatingIfNeeded: steps.count)
          steps = [Self.load(half), Self.jump(BPF_JEQ, 0, ifTrue: 0, ifFalse: beyond)] + steps
        }
      case .with(let argument, let bits):
        steps = [Self.load(Field.argument(argument)), Self.jump(BPF_JSET, bits, ifTrue: 0, ifFalse: beyond)] + steps
      }
    }
    load(Field.number)
    jump(BPF_JEQ, UInt32(bitPattern: call), ifTrue: 0, ifFalse: UInt8(truncatingIfNeeded: steps.count))
    instructions += steps
  }

  private mutating func load(_ field: UInt32) { instructions.append(Self.load(field)) }

  private mutating func jump(_ test: Int32, _ value: UInt32, ifTrue: UInt8, ifFalse: UInt8) {
    instructions.append(Self.jump(test, value, ifTrue: ifTrue, ifFalse: ifFalse))
  }

  private mutating func end(_ action: UInt32) { instructions.append(Self.instruction(BPF_RET | BPF_K, action)) }

  private static func load(_ field: UInt32) -> sock_filter { instruction(BPF_LD | BPF_W | BPF_ABS, field) }

  private static func jump(_ test: Int32, _ value: UInt32, ifTrue: UInt8, ifFalse: UInt8) -> sock_filter {
    instruction(BPF_JMP | test | BPF_K, value, ifTrue, ifFalse)
  }

  private static func instruction(
    _ code: Int32, _ value: UInt32, _ ifTrue: UInt8 = 0, _ ifFalse: UInt8 = 0
  ) -> sock_filter {
    sock_filter(code: UInt16(truncatingIfNeeded: code), jt: ifTrue, jf: ifFalse, k: value)
  }
}
