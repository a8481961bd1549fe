import NIOCore
import NIOPosix

/// The threads that all connections share.
///
/// They start with the first connection and are never stopped: leaving the process ends them at once, so a command that
/// is done doesn't wait for the network. Two are enough; the work is in the sessions, on Swift's own threads.
enum EventLoops {
  static let shared: any EventLoopGroup = MultiThreadedEventLoopGroup(numberOfThreads: 2)
}
