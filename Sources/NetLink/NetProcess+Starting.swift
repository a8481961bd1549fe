import Concurrency
import Dispatch
import Glibc
import Synchronization

extension NetProcess {
  private final class Outcome: Sendable {
    let result = Mutex<Result<NetProcess, NetFault>>(.failure(.unstartable("no thread is left")))
    let isThere = DispatchSemaphore(value: 0)
  }

  /// Has `start` start a process, and takes it over with the socket to it.
  ///
  /// The kernel ends vault-net when the thread ends that started it, so that is the one that reads from it until nobody
  /// needs it any more: those of Swift's and Dispatch's pools come and go.
  static func started(
    socket: FrameSocket, patience: Int32, _ start: @escaping @Sendable () -> Result<pid_t, NetFault>
  ) throws(NetFault) -> NetProcess {
    let outcome = Outcome()
    let isThread = BackgroundThread.start {
      let result = start().flatMap { (process) -> Result<NetProcess, NetFault> in
        do throws(NetFault) { return .success(try NetProcess(process, socket: socket, patience: patience)) } catch {
          return .failure(error)
        }
      }
      outcome.result.withLock { $0 = result }
      outcome.isThere.signal()
      if case .success(let process) = result { process.read() }
    }
    if isThread { outcome.isThere.wait() }
    return try outcome.result.withLock { $0 }.get()
  }
}
