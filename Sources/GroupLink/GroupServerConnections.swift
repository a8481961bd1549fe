package import Grouper

/// Finds servers by the addresses of a roster; all of them share their connections.
package struct GroupServerConnections: GroupServerConnector {
  private let connections: HTTPConnections
  /// See ``HTTPGroupServer/usualPatience``.
  var patience = HTTPGroupServer.usualPatience

  /// Servers behind these connections.
  package init(_ connections: HTTPConnections) { self.connections = connections }

  /// The server at an address, if it is one that may be used: see ``ServerAddress``.
  package func server(at address: String) throws(GroupServerError) -> any GroupServer {
    do {
      var server = HTTPGroupServer(try ServerAddress(address), connections)
      server.patience = patience
      return server
    } catch { throw GroupServerError(error) }
  }
}
