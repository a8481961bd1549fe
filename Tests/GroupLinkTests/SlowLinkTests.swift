import HTTPLink
import HTTPRequests
import Testing

@testable import GroupLink

@Suite(.timeLimit(.minutes(5))) struct SlowLinkTests {
  @Test func `a server at which nothing moves is given up long before the deadline`() async throws {
    let server = try ScriptedServer { _, _ in nil }
    let connections = try HTTPConnections()
    var request = HTTPRequest(method: .get, server: try ServerAddress(server.address), path: "/")
    request.patience = .seconds(1)
    let silent = request
    await #expect(throws: HTTPError.timedOut) { try await connections.perform(silent, authorization: nil) }
    #expect(request.deadline > .seconds(600))
  }
}
