import CCurl
import CCurlShims
import Concurrency
import Dispatch
import Glibc
package import HTTPRequests
import Synchronization

/// Connections to servers, kept open between requests, for everybody in a process: one thread that runs libcurl.
package final class HTTPConnections: HTTPPerformer {
  /// Connections at once, to all servers and to one.
  static let limits = (all: 128, server: 8)

  private let loop: Loop
  /// A file of certificates that servers' are checked against, instead of the system's list.
  private let certificates: String?

  /// Starts the thread. With `certificates`, a path to a PEM file, only servers whose certificate is signed by one of these are trusted.
  package init(certificates: String? = nil) throws(HTTPError) {
    guard Self.isReady, let multi = curl_multi_init() else { throw .noResources }
    vault_curl_set_multi_number(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, Self.limits.all)
    vault_curl_set_multi_number(multi, CURLMOPT_MAX_HOST_CONNECTIONS, Self.limits.server)
    let loop = Loop(multi)
    guard BackgroundThread.start({ loop.run() }) else {
      curl_multi_cleanup(multi)
      throw .noResources
    }
    self.loop = loop
    self.certificates = certificates
  }

  /// Waits for the thread: what comes next may be the end of the program, whose handlers take away what libcurl uses.
  deinit { loop.end() }

  /// libcurl's own preparation, once for a process.
  package static let isReady = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

  /// Asks, and waits for the whole answer, of whatever status. Ends at once when the task is cancelled.
  package func perform(_ request: HTTPRequest, authorization: AuthorizationLine?) async throws(HTTPError) -> HTTPAnswer
  {
    let transfer = try Transfer(request, authorization: authorization, certificates: certificates)
    do {
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          transfer.continuation = continuation
          loop.order(.begin(transfer))
        }
      } onCancel: {
        loop.order(.cancel(transfer))
      }
    } catch let error as HTTPError {
      throw error
    } catch {
      throw .cancelled
    }
  }
}

extension HTTPConnections {
  /// What the thread works on. All of libcurl's calls but the one that wakes it are made by that thread.
  private final class Loop: @unchecked Sendable {
    enum Order {
      case begin(Transfer)
      case cancel(Transfer)
    }

    private struct Orders {
      var waiting: [Order] = []
      var hasEnded = false
    }

    /// Milliseconds after which the thread looks again by itself.
    private static let pause: Int32 = 60_000

    private let multi: UnsafeMutableRawPointer
    private let orders = Mutex(Orders())
    private let ended = DispatchSemaphore(value: 0)
    private var running: [UnsafeMutableRawPointer: Transfer] = [:]

    init(_ multi: UnsafeMutableRawPointer) { self.multi = multi }

    func order(_ order: Order) {
      orders.withLock {
        $0.waiting.append(order)
        // Under the lock: the thread frees what is woken here only after it has seen the end.
        if !$0.hasEnded { curl_multi_wakeup(multi) }
      }
    }

    func end() {
      orders.withLock {
        $0.hasEnded = true
        curl_multi_wakeup(multi)
      }
      ended.wait()
    }

    func run() {
      while true {
        let (due, hasEnded) = orders.withLock { orders in
          defer { orders.waiting = [] }
          return (orders.waiting, orders.hasEnded)
        }
        for order in due { carryOut(order) }
        if hasEnded { break }
        var count: Int32 = 0
        curl_multi_perform(multi, &count)
        var result = CURLE_OK
        while let handle = vault_curl_finished(multi, &result) { finish(handle, result) }
        curl_multi_poll(multi, nil, 0, Self.pause, nil)
      }
      for handle in running.keys.map({ $0 }) { finish(handle, CURLE_ABORTED_BY_CALLBACK) }
      curl_multi_cleanup(multi)
      ended.signal()
    }

    private func carryOut(_ order: Order) {
      switch order {
      case .begin(let transfer):
        guard !transfer.isCancelled else {
          transfer.continuation?.resume(throwing: HTTPError.cancelled)
          return
        }
        guard curl_multi_add_handle(multi, transfer.handle) == CURLM_OK else {
          transfer.continuation?.resume(throwing: HTTPError.noResources)
          return
        }
        running[transfer.handle] = transfer
      case .cancel(let transfer):
        transfer.isCancelled = true
        // Not begun yet, or finished already.
        guard running[transfer.handle] === transfer else { return }
        running[transfer.handle] = nil
        curl_multi_remove_handle(multi, transfer.handle)
        transfer.continuation?.resume(throwing: HTTPError.cancelled)
      }
    }

    private func finish(_ handle: UnsafeMutableRawPointer, _ result: CURLcode) {
      curl_multi_remove_handle(multi, handle)
      guard let transfer = running.removeValue(forKey: handle) else { return }
      transfer.continuation?.resume(with: transfer.outcome(result).mapError { $0 as any Error })
    }
  }
}
