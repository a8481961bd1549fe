import ChatServers
import Foundation
import PeerAuth
import PeerLink
import VaultProtocol
import WireCodec
import XMPPLink
import XMPPRequests

/// One way for a message to go, with everything open and logged in beforehand.
protocol Way: Sendable {
  /// As the table of times names it.
  var name: String { get }
  /// Sends one message and returns when it was sent and when it had arrived; then puts everything in order for the next.
  func send(_ text: String) async throws -> (sent: Double, arrived: Double)
}

/// A sealed parcel over an open session of two peers, on TCP: until the recipient has opened it.
struct SessionLink: Way {
  let name = "session"
  private let session: PeerSession
  private let arrivals = Arrivals()
  private let people: (Person, Person)

  init() async throws {
    let (ada, ben) = (try Person("ada"), try Person("ben"))
    let listener = try await TCPListener.bind(host: "127.0.0.1", port: 0)
    let arrivals = arrivals
    Task {
      for await transport in listener.incoming {
        let answered = try await PeerSession.answer(transport, identity: ben.identity, ownCard: ben.card) {
          $0 == ada.identity.keys.noise ? ada.identity.keys : nil
        }
        while true {
          let received = try await answered.receive { MessageType.byteLimit($0, isPeer: true) }
          if received.isGoodbye { break }
          let piece = try CourierPiece.decode(received.body.bytes, limit: MessageType.courierPiece.byteLimit)
          try Letter.open(piece.bytes, from: ada, to: ben)
          arrivals.note()
        }
      }
    }
    session = try await PeerSession.dial(
      TCPConnector().connect(listener.address), identity: ada.identity, peer: ben.identity.keys, ownCard: ada.card)
    people = (ada, ben)
  }

  func send(_ text: String) async throws -> (sent: Double, arrived: Double) {
    let parcel = try Letter.seal(text, from: people.0, to: people.1)
    let bytes = try parcel.encoded()
    let copy = try parcel.copy()
    let start = Stopwatch.now()
    let piece = CourierPiece(
      request: 1, copy: copy, hopsLeft: 0, branch: ParcelProof.noBranch, of: bytes, offset: 0)
    try await session.send(type: CourierPiece.type.rawValue, count: piece.encodedByteCount) {
      (writer) throws(WireError) in try piece.encode(into: &writer)
    }
    return (start, try await arrivals.next())
  }
}

/// The same parcel through the server, between two accounts that are connected: until the recipient has opened it.
struct ServerLink: Way {
  let name = "server"
  private let people: (Person, Person)
  private let clients: (ChatClient, ChatClient)
  private let arrivals = Arrivals()

  init(_ server: ChatServer) async throws {
    let (ada, ben) = (try Person("ada"), try Person("ben"))
    let arrivals = arrivals
    people = (ada, ben)
    clients = (
      try await ChatClient("parcel-from", on: server) { _ in },
      try await ChatClient("parcel-to", on: server) { event in
        guard case .parcel(let part) = event else { return }
        do {
          try Letter.open(part.bytes, from: ada, to: ben)
          arrivals.note()
        } catch { Complaint.say("\(error)") }
      }
    )
  }

  func send(_ text: String) async throws -> (sent: Double, arrived: Double) {
    let parcel = try Letter.seal(text, from: people.0, to: people.1)
    let bytes = try parcel.encoded()
    let start = Stopwatch.now()
    try await clients.0.connection.send(
      parcel: bytes, to: clients.1.address, id: Letter.digits(parcel.id.bytes))
    return (start, try await arrivals.next())
  }
}

/// A plain text through the server, as any program sends it: until the recipient has it.
struct PlainLink: Way {
  let name = "plain"
  private let clients: (ChatClient, ChatClient)
  private let arrivals = Arrivals()

  init(_ server: ChatServer) async throws {
    let arrivals = arrivals
    clients = (
      try await ChatClient("plain-from", on: server) { _ in },
      try await ChatClient("plain-to", on: server) { if case .message = $0 { arrivals.note() } }
    )
  }

  func send(_ text: String) async throws -> (sent: Double, arrived: Double) {
    let start = Stopwatch.now()
    try await clients.0.connection.send(text, to: clients.1.address, id: XMPPConnection.freshID())
    return (start, try await arrivals.next())
  }
}

/// Where faults are told.
enum Complaint {
  static func say(_ words: String) { FileHandle.standardError.write(Data("courier-latency: \(words)\n".utf8)) }
}
