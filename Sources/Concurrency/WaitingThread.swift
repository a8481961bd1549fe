/// Work that blocks, for a task that waits for its outcome.
package enum WaitingThread {
  /// Without a thread it is better to hold others up than to do nothing.
  package static func run<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let outcome = await withCheckedContinuation { (continuation: CheckedContinuation<Result<Value, Failure>, Never>) in
      let work = { @Sendable in
        do throws(Failure) {
          continuation.resume(returning: .success(try body()))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
      if !BackgroundThread.start(work) { work() }
    }
    return try outcome.get()
  }

  /// The same for work that may go on for ever, and would hold others up; nil if there is no thread for it.
  package static func runAlone<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value? {
    await withCheckedContinuation { continuation in
      if !BackgroundThread.start({ continuation.resume(returning: body()) }) { continuation.resume(returning: nil) }
    }
  }
}
