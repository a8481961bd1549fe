public import Grouper

/// Finds servers by the addresses of a roster; all of them share their connections.
public struct GroupServerConnections: GroupServerConnector {
  private let connections: HTTPConnections

  /// Servers behind these connections.
  public init(_ connections: HTTPConnections) { self.connections = connections }

  /// The server at an address, if it is one that may be used: see ``ServerAddress``.
  public func server(at address: String) throws(GroupServerError) -> any GroupServer {
    do { return HTTPGroupServer(try ServerAddress(address), connections) } catch {
      throw GroupServerError(error)
    }
  }
}
