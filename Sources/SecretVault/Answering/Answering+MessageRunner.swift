extension Answering {
  /// The daemon's part, until the task is cancelled.
  package func runMessages() async {
    while !Task.isCancelled {
      let seen = core.pulse.count
      do { try await messageRunnerStep() } catch {
        if core.strangers.isNew("messages", at: environment.monotonic()) {
          environment.log.warning("messages wait: \(VaultError(error).reason)")
        }
      }
      do { try await core.wait(since: seen) } catch { return }
    }
  }

  /// One look: what is over ends, what is owed is made into parcels, and requests that came by an account or with carriers are answered.
  func messageRunnerStep() async throws {
    try post.prepareParcels()
    _ = try await answerParcels()
  }
}
