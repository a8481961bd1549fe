import CStrophe
import CStropheShims
import Concurrency
import Glibc
import Synchronization
package import XMPPRequests

/// One connection: the thread that runs libstrophe, and what others order it to do. All of libstrophe's calls but the
/// one that breaks the connection are made by that thread.
package final class Loop: @unchecked Sendable {
  enum Order {
    case send(Request)
    case cancel(Request)
    /// What who knows the password answers.
    case answered(Result<[UInt8], XMPPError>)
    /// Say goodbye, and end when the server has.
    case leave
  }

  private struct Orders {
    var waiting: [Order] = []
    /// Nothing is waited for any more.
    var isBroken = false
    var hasEnded = false
    /// The link that the thread works on, to break it.
    var link: Link?
    /// Who waits for the connection to begin.
    var beginning: CheckedContinuation<JID, any Error>?
  }

  private struct Link: @unchecked Sendable { let pointer: OpaquePointer }

  struct Limits {
    /// Milliseconds that the server has to say goodbye.
    static let goodbye: Int64 = 2000
    /// Requests that wait for their turn, and for their answers.
    static let requests = 512
    /// What libstrophe may hold for stanzas that aren't whole yet, and bytes of one that are read at most. A stanza of
    /// 256 kB, as servers let through, takes up to 1.3 MB, and a roster half a kilobyte for each contact. More would
    /// keep libstrophe busy for long, which looks for the place of each child from the first one on.
    static let live = 2 << 20
    static let stanza: UInt64 = 2 << 20
  }

  package let account: XMPPAccount
  package let events = EventQueue()
  private let wake: Int32
  private let orders = Mutex(Orders())

  // The thread's own.
  var link: OpaquePointer?
  var negotiation: Negotiation
  let prover: (any ScramProver)?
  var address: JID
  var outgoing: [Request] = []
  var pending: [String: Request] = [:]
  /// The connection is over, for this reason.
  var end: Result<Void, XMPPError>?
  private var goodbye: ContinuousClock.Instant?
  /// Bytes that had been read when the last stanza was whole.
  private var mark: UInt64 = 0
  private var sawStanza = false

  /// One that hasn't begun. `prover` knows the password of who logs in.
  package init(_ account: XMPPAccount, _ goal: XMPPGoal, _ prover: (any ScramProver)?) throws(XMPPError) {
    wake = vault_strophe_wake_new()
    guard wake >= 0 else { throw .noResources }
    self.account = account
    self.prover = prover
    negotiation = Negotiation(account.address, goal: goal)
    address = account.address
  }

  deinit { Glibc.close(wake) }

  /// Starts the thread, and waits until the connection has begun. Cancelled, or failed, it is over.
  package func begin() async throws(XMPPError) -> JID {
    do {
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          orders.withLock { $0.beginning = continuation }
          if !BackgroundThread.start({ self.run() }) { began(.failure(.noResources)) }
        }
      } onCancel: {
        breakOff()
      }
    } catch let error as XMPPError {
      throw error
    } catch {
      throw .cancelled
    }
  }

  /// Sends, and waits for the answer if the request has one, else until its turn to be sent has come.
  func perform(_ request: Request) async throws(XMPPError) -> Request.Answer {
    do {
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          request.continuation = continuation
          let isAccepted = order(.send(request))
          if !isAccepted {
            request.continuation = nil
            continuation.resume(throwing: XMPPError.closed)
          }
        }
      } onCancel: {
        order(.cancel(request))
      }
    } catch let error as XMPPError {
      throw error
    } catch {
      throw .cancelled
    }
  }

  @discardableResult
  func order(_ order: Order) -> Bool {
    orders.withLock {
      guard !$0.hasEnded else { return false }
      $0.waiting.append(order)
      vault_strophe_wake(wake)
      return true
    }
  }

  /// Ends the connection at once, whatever the thread waits for: who waits for its beginning doesn't wait for the
  /// thread.
  package func breakOff() {
    orders.withLock {
      $0.isBroken = true
      if let link = $0.link { vault_strophe_break(link.pointer) }
      vault_strophe_wake(wake)
    }
    began(.failure(.cancelled))
  }

  /// Bytes that the server's machine has taken and given, whatever the thread is at.
  var currentProgress: UInt64 { orders.withLock { $0.link.map { vault_strophe_progress($0.pointer) } ?? 0 } }

  /// Tells who waits for the beginning what came of it; the first time counts.
  func began(_ result: Result<JID, XMPPError>) {
    let waiting = orders.withLock { orders in
      defer { orders.beginning = nil }
      return orders.beginning
    }
    waiting?.resume(with: result.mapError { $0 as any Error })
  }

  // MARK: The thread

  private func run() {
    vault_strophe_ignore_pipe_signals()
    if connect() {
      var state = vault_strophe_state()
      while end == nil, let link {
        let (due, isBroken) = orders.withLock { orders in
          defer { orders.waiting = [] }
          return (orders.waiting, orders.isBroken)
        }
        // Also at the end, so that nobody who asked waits for ever.
        for order in due { carryOut(order) }
        if isBroken { break }
        sendNext()
        vault_strophe_step(link, wake, pause, &state)
        check(state)
      }
    }
    finish()
  }

  private func connect() -> Bool {
    let callbacks = vault_strophe_callbacks(
      opened: { context, isRaw in Loop.from(context)?.opened(isRaw: isRaw != 0) },
      stanza: { context, stanza in if let stanza { Loop.from(context)?.came(stanza) } },
      ended: { context, error in Loop.from(context)?.ended(error) })
    let context = Unmanaged.passUnretained(self).toOpaque()
    guard
      let link = vault_strophe_new(account.address.description, account.certificates, Limits.live, callbacks, context)
    else {
      end = .failure(.noResources)
      return false
    }
    self.link = link
    let shared = Link(pointer: link)
    let isBroken = orders.withLock { orders in
      orders.link = shared
      return orders.isBroken
    }
    if isBroken { return false }
    if vault_strophe_connect(link, account.namedHost, account.port ?? 0) != 0, end == nil {
      end = .failure(
        vault_strophe_lacks_descriptors(link) != 0
          ? .tooManyFiles : .unreachable("no server was found at \(account.host ?? account.address.domain)"))
    }
    return end == nil
  }

  private static func from(_ context: UnsafeMutableRawPointer?) -> Loop? {
    context.map { Unmanaged<Loop>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Milliseconds to wait at most.
  private var pause: Int32 { goodbye == nil ? 60_000 : 50 }

  private func check(_ state: vault_strophe_state) {
    if sawStanza {
      sawStanza = false
      mark = state.received
    }
    if end != nil { return }
    if state.isMalformed != 0 {
      end = .failure(.malformed("what comes isn't XML"))
    } else if state.live > Limits.live || state.received > mark && state.received - mark > Limits.stanza {
      end = .failure(.tooMuch("a stanza that doesn't end"))
    } else if let goodbye, goodbye < .now {
      end = .success(())
    }
  }

  private func carryOut(_ order: Order) {
    switch order {
    case .send(let request):
      if request.isCancelled { return request.finish(.failure(.cancelled)) }
      guard goodbye == nil else { return request.finish(.failure(.closed)) }
      guard outgoing.count < Limits.requests, pending.count < Limits.requests else {
        return request.finish(.failure(.busy))
      }
      outgoing.append(request)
    case .cancel(let request):
      request.isCancelled = true
      // Not begun yet, or finished already, if it's in neither.
      if let place = outgoing.firstIndex(where: { $0 === request }) {
        outgoing.remove(at: place)
      } else if let id = request.query?.id, pending[id] === request {
        pending[id] = nil
      } else {
        return
      }
      request.finish(.failure(.cancelled))
    case .answered(let answer):
      guard end == nil else { return }
      do throws(XMPPError) { try take(negotiation.answered(try answer.get())) } catch { end = .failure(error) }
    case .leave:
      guard goodbye == nil else { return }
      goodbye = .now + .milliseconds(Limits.goodbye)
      outgoing.append(Request(.stanza(Array("</stream:stream>".utf8))))
    }
  }

  /// Gives libstrophe what is due, one stanza at a time, so that what waits can still be taken back.
  private func sendNext() {
    guard let link, end == nil, !outgoing.isEmpty, vault_strophe_takes_more(link) != 0 else { return }
    let request = outgoing.removeFirst()
    switch request.body {
    case .stanza(let bytes): send(bytes)
    case .secret(let stanza): send(stanza)
    }
    if let id = request.query?.id {
      pending[id] = request
    } else {
      request.finish(.success(Request.Answer()))
    }
  }

  func send(_ bytes: [UInt8]) {
    guard let link else { return }
    // libstrophe looks for a NUL, whatever the length says.
    (bytes + [0]).withUnsafeBytes {
      if let start = $0.baseAddress { vault_strophe_send(link, start.assumingMemoryBound(to: CChar.self), bytes.count) }
    }
  }

  func send(_ stanza: SecretStanza) {
    guard let link else { return }
    stanza.bytes.withUnsafeBytes {
      if let start = $0.baseAddress {
        vault_strophe_send(link, start.assumingMemoryBound(to: CChar.self), $0.count - 1)
      }
    }
  }

  private func came(_ stanza: OpaquePointer) {
    sawStanza = true
    guard end == nil else { return }
    do throws(XMLElement.Fault) { received(try StanzaReader.read(stanza)) } catch { unreadable(error) }
  }

  private func opened(isRaw: Bool) {
    sawStanza = true
    guard end == nil else { return }
    do throws(XMPPError) { try take(negotiation.opened(isRaw: isRaw)) } catch { end = .failure(error) }
  }

  private func ended(_ error: Int32) {
    guard end == nil else { return }
    if goodbye != nil {
      end = .success(())
    } else if let link, let reason = refusal(link) {
      end = .failure(.untrusted(reason))
    } else {
      let isFull = link.map { vault_strophe_lacks_descriptors($0) != 0 } ?? false
      end = .failure(isFull ? .tooManyFiles : .unreachable(Self.reason(error)))
    }
  }

  func refusal(_ link: OpaquePointer) -> String? {
    let reason = String(cString: vault_strophe_refusal(link))
    return reason.isEmpty ? nil : reason
  }

  /// libstrophe's number is the system's or OpenSSL's, which are small.
  private static func reason(_ error: Int32) -> String {
    error > 8 ? String(cString: strerror(error)) : "the connection was closed"
  }

  private func finish() {
    let link = link
    self.link = nil
    let (late, isBroken) = orders.withLock { orders in
      orders.hasEnded = true
      orders.link = nil
      defer { orders.waiting = [] }
      return (orders.waiting, orders.isBroken)
    }
    if let link { vault_strophe_free(link) }
    var error: XMPPError?
    // Who broke the connection off on this side knows why.
    if case .failure(let failure) = end, !isBroken { error = failure }
    let reason = error ?? .closed
    began(.failure(isBroken ? .cancelled : reason))
    for case .send(let request) in late { request.finish(.failure(reason)) }
    for request in outgoing + pending.values { request.finish(.failure(reason)) }
    outgoing = []
    pending = [:]
    events.put(.closed(error))
  }
}
