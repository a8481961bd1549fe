import Sodium
import Synchronization
import WireCodec
import XMPPRequests

/// A connection to a server of XMPP that vault-net has.
final class NetConnection: XMPPCarrier, NetProcess.Receiver {
  private struct State {
    var process: NetProcess?
    var id: UInt64 = 0
    var isBeginning = true
    var hasEnded = false
    var isClosed = false
    /// What was asked of who knows the password.
    var questions = 0
    /// Whether the server has shown that it knows what belongs to the password.
    var isProven = false
  }

  /// An opening, a challenge and a proof; some servers take one more word.
  private static let questionLimit = 3

  private static let goodbye = Duration.seconds(5)

  let events = EventQueue()
  let beginning = PendingResult<JID, XMPPError>()
  private let account: JID
  private let prover: (any ScramProver)?
  private let state = Mutex(State())

  init(_ account: JID, _ prover: (any ScramProver)?) {
    self.account = account
    self.prover = prover
  }

  func begins(_ process: NetProcess, _ id: UInt64) {
    state.withLock { state in
      state.process = process
      state.id = id
    }
  }

  // MARK: What is asked

  func perform(_ request: XMPPRequest) async throws(XMPPError) -> XMPPReply {
    let (process, connection) = try place()
    let call = XMPPCall(request)
    var secret: SecretBody?
    if case .changePassword(let password) = request { secret = try Self.body(password) }
    let id: UInt64
    do throws(NetFault) {
      id = try process.begin(call) { NetFrame(.ask, $0, request.encoded(for: connection)).behind(secret, .password) }
    } catch { throw XMPPError(error) }
    secret = nil
    return try await call.pending.value {
      call.pending.finish(.failure(.cancelled))
      process.send(NetFrame(.cancel, id))
    }
  }

  func progress() async -> UInt64 {
    let call = ProgressCall()
    guard let (process, connection) = try? place(),
      (try? process.begin(call) { [NetFrame(.progress, $0, number: connection)] }) != nil
    else { return 0 }
    return await call.pending.value { call.pending.finish(.success(0)) }
  }

  func logout() {
    guard let (process, id) = try? place() else { return }
    process.send(NetFrame(.logout, id))
    // Whoever waits for the end doesn't wait for a helper that says nothing.
    Task {
      try? await Task.sleep(for: Self.goodbye)
      close()
    }
  }

  func close() {
    let place = state.withLock { state -> (NetProcess, UInt64)? in
      guard !state.isClosed else { return nil }
      state.isClosed = true
      return state.process.flatMap { state.hasEnded ? nil : ($0, state.id) }
    }
    if let (process, id) = place { process.send(NetFrame(.close, id)) }
    beginning.finish(.failure(.cancelled))
    events.put(.closed(nil))
  }

  private func place() throws(XMPPError) -> (NetProcess, UInt64) {
    let place = state.withLock { state -> (NetProcess, UInt64)? in
      state.isClosed || state.hasEnded ? nil : state.process.map { ($0, state.id) }
    }
    guard let place else { throw .closed }
    return place
  }

  static func body(_ password: Password) throws(XMPPError) -> SecretBody {
    do throws(SodiumError) { return SecretBody(try password.bytes.duplicate()) } catch { throw .noResources }
  }

  // MARK: What comes

  func limit(of kind: NetFrame.Kind) -> Int? {
    let isBeginning = state.withLock { $0.isBeginning }
    switch kind {
    case .question where isBeginning && prover != nil, .begun where isBeginning, .refusal where isBeginning,
      .event where !isBeginning:
      return kind.limit
    default: return nil
    }
  }

  func take(_ frame: NetFrame) -> NetProcess.Verdict {
    do throws(WireError) {
      switch frame.kind {
      case .question: return try answer(frame)
      case .begun:
        let address = try JID(encoded: frame.body)
        let (process, isProven) = state.withLock { state in
          state.isBeginning = false
          return (state.process, state.isProven)
        }
        // The helper's word alone is none: it may be in the hands of a server.
        guard prover == nil || isProven else { return .senseless }
        // Which device of the account this is, the server decides; vault-net passes on no more than that.
        guard address.bare == account else {
          beginning.finish(.failure(.malformed("somebody else's address")))
          return .senseless
        }
        process?.setNotDue(frame.id)
        beginning.finish(.success(address))
        return .more
      case .refusal:
        let error = try XMPPError(encoded: frame.body)
        state.withLock { $0.hasEnded = true }
        beginning.finish(.failure(error))
        return .last
      default:
        let event = try XMPPEvent(encoded: frame.body)
        guard case .closed = event else {
          events.put(event)
          return .more
        }
        state.withLock { $0.hasEnded = true }
        events.put(event)
        return .last
      }
    } catch { return .senseless }
  }

  func end(_ fault: NetFault) {
    state.withLock { $0.hasEnded = true }
    beginning.finish(.failure(XMPPError(fault)))
    events.put(.closed(XMPPError(fault)))
  }

  private func answer(_ frame: NetFrame) throws(WireError) -> NetProcess.Verdict {
    let question = try ScramQuestion(encoded: frame.body)
    let (process, count) = state.withLock { state in
      state.questions += 1
      return (state.process, state.questions)
    }
    guard let prover, let process, count <= Self.questionLimit else { return .senseless }
    Task {
      let answer: Result<[UInt8], XMPPError>
      do throws(XMPPError) {
        answer = .success(try await prover.answer(question))
        if case .proof = question { state.withLock { $0.isProven = true } }
      } catch { answer = .failure(error) }
      process.send(NetFrame(.proof, frame.id, ScramQuestion.encode(answer)))
    }
    return .more
  }
}
