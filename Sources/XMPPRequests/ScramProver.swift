import Concurrency
package import Sodium
import Synchronization

/// What is asked of who knows the password, in this order.
package enum ScramQuestion: Hashable, Sendable {
  /// The first words of the exchange, with the best hash that the server offers.
  case opening(ScramHash)
  /// The answer to the server's challenge.
  case challenge([UInt8])
  /// Whether the server knows what belongs to the password as well.
  case proof([UInt8])
}

/// Who knows the password, and shows it to nobody.
package protocol ScramProver: Sendable {
  /// What goes to the server; empty if it has shown what it should.
  func answer(_ question: ScramQuestion) async throws(XMPPError) -> [UInt8]
}

/// The password itself, for one login.
package final class PasswordProver: ScramProver {
  private let user: String
  private let password: Password
  private let client = Mutex<ScramClient?>(nil)

  package init(_ account: XMPPAccount, _ password: borrowing SecretBytes) throws(XMPPError) {
    user = account.address.local ?? ""
    self.password = try Password(password)
  }

  /// Thousands of hashes, so on a thread of its own.
  package func answer(_ question: ScramQuestion) async throws(XMPPError) -> [UInt8] {
    let result = await withCheckedContinuation {
      (continuation: CheckedContinuation<Result<[UInt8], XMPPError>, Never>) in
      let isStarted = BackgroundThread.start { continuation.resume(returning: self.answerNow(question)) }
      if !isStarted { continuation.resume(returning: .failure(.noResources)) }
    }
    return try result.get()
  }

  private func answerNow(_ question: ScramQuestion) -> Result<[UInt8], XMPPError> {
    client.withLock { client in
      do throws(XMPPError) {
        switch question {
        case .opening(let hash):
          guard client == nil else { throw .malformed("a step of the login out of turn") }
          let new = ScramClient(hash, user: user, password: password, nonce: XMPPConnection.freshID())
          client = new
          return .success(new.opening)
        case .challenge(let challenge):
          guard let client else { throw .malformed("a step of the login out of turn") }
          return .success(try client.answer(challenge))
        case .proof(let proof):
          guard let client else { throw .malformed("a step of the login out of turn") }
          try client.finish(proof)
          return .success([])
        }
      } catch { return .failure(error) }
    }
  }
}
