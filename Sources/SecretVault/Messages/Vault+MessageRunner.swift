import PeerAuth
import Sodium
import VaultProtocol
import VaultStore

/// What is to be done with messages by and by: the daemon's part.
extension Vault {
  /// Works until the task is cancelled.
  package func runMessages() async {
    while !Task.isCancelled {
      do { try await messageRunnerStep() } catch {
        if strangers.isNew("messages", at: environment.monotonic()) {
          environment.log.warning("messages wait: \(VaultError(error).reason)")
        }
      }
      do { try await environment.sleep(ParcelTimes.step) } catch { return }
    }
  }

  /// One look: what is over ends, what is owed is made into parcels, and requests that came by an account or with carriers are answered.
  package func messageRunnerStep() async throws {
    try prepareParcels()
    _ = try await answerParcels()
  }

  /// Ends messages of which nothing will come any more: own ones that nobody has taken in time, and files of which parts are missing. What came
  /// whole, and wasn't looked at because the program ended just then, is looked at now.
  func endMessages(expiredBy time: Int64) throws {
    let own = MessageFilter(direction: .sent, states: [.waiting, .underway], expiredAt: time)
    for message in try database.messages(own) where message.isSealed {
      try changeMessage({ () throws(StoreError) in try database.message(number: message.number) }) { message in
        if message.state == .waiting || message.state == .underway { message.state = .lost }
      }
      environment.log.info("message \(message.number) did not arrive in time")
    }
    let partial = MessageFilter(direction: .received, states: [.partial])
    for message in try database.messages(partial) {
      if message.partsDone == message.partCount {
        guard let digest = message.peer, let peer = try database.peer(digest)
        else { continue }
        try settle(message, from: peer)
      } else if message.expiresAt > 0, message.expiresAt <= time {
        _ = try database.removeMessage(message.number)
        environment.log.info("a file of which parts were missing is given up: message \(message.number)")
      }
    }
  }
}
