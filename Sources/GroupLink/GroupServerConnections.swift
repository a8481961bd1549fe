package import Grouper
package import HTTPRequests

/// Finds servers by the addresses of a roster; all of them share their connections.
package struct GroupServerConnections: GroupServerConnector {
  private let connections: any HTTPPerformer
  /// See ``HTTPGroupServer/usualPatience``.
  var patience = HTTPGroupServer.usualPatience

  /// Servers behind these connections: those of HTTPLink, or whoever else brings requests there.
  package init(_ connections: any HTTPPerformer) { self.connections = connections }

  /// The server at an address, if it is one that may be used: see ``ServerAddress``.
  package func server(at address: String) throws(GroupServerError) -> any GroupServer {
    do {
      var server = HTTPGroupServer(try ServerAddress(address), connections)
      server.patience = patience
      return server
    } catch { throw GroupServerError(error) }
  }
}
