import XMPPLink

/// Runs `body` for a time at most.
func within<Value: Sendable>(
  _ limit: Duration, _ sleep: @escaping @Sendable (Duration) async throws -> Void,
  _ body: @escaping @Sendable () async throws(XMPPError) -> Value
) async throws(XMPPError) -> Value {
  let first: Result<Value, XMPPError>? = await withTaskGroup(of: Result<Value, XMPPError>?.self) { tasks in
    tasks.addTask {
      do throws(XMPPError) { return .success(try await body()) } catch { return .failure(error) }
    }
    tasks.addTask {
      try? await sleep(limit)
      return nil
    }
    let first = await tasks.next() ?? nil
    tasks.cancelAll()
    return first
  }
  guard let first else { throw Task.isCancelled ? .cancelled : .unreachable("no answer for \(limit)") }
  return try first.get()
}
