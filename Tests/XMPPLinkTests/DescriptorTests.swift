import ChatServers
import Glibc
import Testing

@testable import XMPPLink
@testable import XMPPRequests

extension ServerTests {
  @Suite(.enabled(if: ChatServer.isAvailable, chatServerReason), .serialized, .timeLimit(.minutes(10)))
  struct DescriptorTests {
    /// So many open files that none of the lower numbers is free.
    private final class Crowd {
      private static let count: Int32 = 1200
      private var files: [Int32] = []
      private var before = rlimit()

      init() throws {
        try #require(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before) == 0)
        var limit = before
        limit.rlim_cur = min(limit.rlim_max, 4096)
        try #require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        try fill()
      }

      /// Takes what has become free since.
      func fill() throws {
        var last: Int32
        repeat {
          last = open("/dev/null", O_RDONLY | O_CLOEXEC)
          try #require(last >= 0)
          files.append(last)
        } while last < Self.count
      }

      static var isPossible: Bool {
        var limit = rlimit()
        return getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 && limit.rlim_max >= 4096
      }

      deinit {
        for file in files { close(file) }
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before)
      }
    }

    private func connect(_ client: TestClient) async throws -> XMPPConnection {
      try await within(.seconds(60)) {
        try await XMPPConnection.connect(client.account, password: password(client.name))
      }
    }

    @Test(.enabled(if: Crowd.isPossible, "the system's limit on open files is too low"))
    func `an account connects while more than a thousand files are open, and too many are told apart`()
      async throws
    {
      let client = try await ChatServer.shared(.prosody).newConnection("ada")
      XMPPConnection.prepare()
      let crowd = try Crowd()
      var connections: [XMPPConnection] = []
      // What tests before have left ends when it likes, and frees some.
      var isRefused = false
      while !isRefused, connections.count < 40 {
        do {
          let connection = try await connect(client)
          try await connection.ping()
          connections.append(connection)
        } catch XMPPError.tooManyFiles { isRefused = true }
        if connections.count >= 4 { try crowd.fill() }
      }
      #expect(isRefused && connections.count >= 4)
      // Whoever goes makes room for the next.
      connections.removeLast().close()
      let next = try await again(client)
      try await next.ping()
      for connection in connections + [next] { connection.close() }
      withExtendedLifetime(crowd) {}
    }

    /// The end of a connection is another thread's, a moment later.
    private func again(_ client: TestClient) async throws -> XMPPConnection {
      for _ in 0..<3000 {
        do { return try await connect(client) } catch XMPPError.tooManyFiles {
          try await Task.sleep(for: .milliseconds(20))
        }
      }
      return try await connect(client)
    }
  }
}
