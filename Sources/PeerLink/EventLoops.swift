import NIOCore
import NIOPosix

/// The threads that all connections share.
///
/// They start with the first connection and are never stopped: leaving the process ends them at once, so a command that
/// is done doesn't wait for the network. Answering known peers is mostly done on them, so that a message wakes no second
/// thread; what takes long, and strangers' handshakes, are done elsewhere.
enum EventLoops {
  static let shared: any EventLoopGroup = MultiThreadedEventLoopGroup(
    numberOfThreads: min(max(System.coreCount, 2), 8))

  /// One for each loop, never freed: tasks may refer to them to the last moment.
  private static let executors: [ObjectIdentifier: EventLoopExecutor] = Dictionary(
    uniqueKeysWithValues: shared.makeIterator().map { (ObjectIdentifier($0), EventLoopExecutor($0)) })

  /// Runs tasks on the thread of one of ``shared``'s loops.
  static func executor(of loop: any EventLoop) -> (any TaskExecutor)? { executors[ObjectIdentifier(loop)] }
}

/// Runs tasks on the thread of an event loop.
private final class EventLoopExecutor: TaskExecutor {
  private let loop: any EventLoop

  init(_ loop: any EventLoop) { self.loop = loop }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}
