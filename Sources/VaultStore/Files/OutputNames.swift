import Synchronization

/// The files of this process that have got their final names, for whoever ends it and has to say what is there.
enum OutputNames {
  private struct State {
    var isEnding = false
    var written: [String] = []
  }

  private static let state = Mutex(State())
  /// Most that are remembered.
  private static let limit = 16

  /// Gives the file `path` its name by `body`, and remembers it; not any more once somebody has asked what was written.
  static func give(_ path: String, by body: () throws(StoreError) -> Void) throws(StoreError) {
    try state.withLock { (state) throws(StoreError) in
      guard !state.isEnding else { throw .inputOutput(path: path, reason: "the program is ending") }
      try body()
      if state.written.count < limit { state.written.append(path) }
    }
  }

  /// It has been taken back.
  static func forget(_ path: String) { state.withLock { $0.written.removeAll { $0 == path } } }

  /// What was written. From now on nothing is; nil if a disk that doesn't answer keeps that from being known.
  static func end() -> [String]? {
    state.withLockIfAvailable { state in
      state.isEnding = true
      return state.written
    }
  }
}
