/// A parser, or a few that belong together, as the fuzzer sees them.
struct FuzzTarget: Sendable {
  /// Its name on the command line, and of its folder in the corpus.
  let name: String
  /// Most bytes of an input.
  let byteLimit: Int
  /// Most MiB that may be allocated at once while an input is worked on.
  let allocationLimit: Int
  /// Most MiB of the whole process, the sanitizer's own included.
  let memoryLimit: Int
  /// Whether it refuses wrong inputs. The others take everything, and only their properties are checked.
  let judges: Bool
  /// Works on one input. Returns whether it was accepted; an error means that it was refused.
  let run: @Sendable ([UInt8]) throws -> Bool

  init(
    _ name: String, upTo byteLimit: Int, allocating allocationLimit: Int = 4, holding memoryLimit: Int = 256,
    judges: Bool = true,
    _ run: @escaping @Sendable ([UInt8]) throws -> Bool
  ) {
    self.name = name
    self.byteLimit = byteLimit
    self.allocationLimit = allocationLimit
    self.memoryLimit = memoryLimit
    self.judges = judges
    self.run = run
  }

  /// All of them.
  static let all: [FuzzTarget] = groups.flatMap { $0 }

  private static let groups: [[FuzzTarget]] = [
    CardTargets.all, HeaderTargets.all, MessageTargets.all, ShareTargets.all, LifecycleTargets.all,
    FragmentTargets.all, SessionTargets.all, PayloadTargets.all, ItemTargets.all, ParcelTargets.all, StoreTargets.all,
    RowTargets.all,
    StateTargets.all, TextTargets.all, URLTargets.all, AgeTargets.all, LocalTargets.all, BluetoothTargets.all,
    ServerTargets.all,
    AnswerTargets.all, GatheringTargets.all, GroupTargets.all, ChatTargets.all, NetTargets.all, PictureTargets.all,
  ]
}

/// Ends the process: a property that must hold for every input does not.
func violated(_ property: String) -> Never { fatalError("violated: \(property)") }

/// Ends the process unless `holds`.
func require(_ holds: Bool, _ property: @autoclosure () -> String) {
  if !holds { violated(property()) }
}

/// What every target builds on: failing here is never the input's fault.
func prepared<Value: ~Copyable>(_ make: () throws -> Value) -> Value {
  do { return try make() } catch { violated("the preparation failed: \(error)") }
}
