import ChatServers
import PeerAuth
import PeerLink
import SecretVault
import Synchronization
import VaultProtocol
import VaultXMPP
import WireCodec
import XMPPLink
import XMPPRequests

/// From one vault to another over an open session: from the order to send until it is durable at the recipient. The program itself opens
/// a session for each meeting; this is what remains when it is open already. They have accounts, so that nothing but the way is another one.
struct DirectVaults: Way {
  let name = "vault session"
  private let sender, recipient: Device
  private let session: PeerSession
  private let receipts = Mailbox<ParcelTaking>()

  init(_ server: ChatServer, in folder: String) async throws {
    (sender, recipient) = (try await Device("ada", in: folder), try await Device("ben", in: folder))
    try Device.introduce(sender, recipient)
    try await Device.giveAccounts(sender, recipient, on: server)
    let (ada, ben) = (try Person("ada"), try Person("ben"))
    let listener = try await TCPListener.bind(host: "127.0.0.1", port: 0)
    let (vault, receipts) = (recipient.vault, receipts)
    let from = try vault.accounts.peerDigest(sender.name)
    Task {
      for await transport in listener.incoming {
        let answered = try await PeerSession.answer(transport, identity: ben.identity, ownCard: ben.card) {
          $0 == ada.identity.keys.noise ? ada.identity.keys : nil
        }
        while true {
          let received = try await answered.receive { MessageType.byteLimit($0, isPeer: true) }
          if received.isGoodbye { break }
          let piece = try CourierPiece.decode(received.body.bytes, limit: MessageType.courierPiece.byteLimit)
          receipts.put(try vault.intake.takeParcel(piece.bytes, by: ParcelArrival(way: .session, from: from)))
        }
      }
    }
    session = try await PeerSession.dial(
      TCPConnector().connect(listener.address), identity: ada.identity, peer: ben.identity.keys, ownCard: ada.card)
  }

  func send(_ text: String) async throws -> (sent: Double, arrived: Double) {
    let start = Stopwatch.now()
    let number = try sender.write(text, to: recipient)
    let post = try sender.only(.session).post
    let copy = try Parcel.decode(post.bytes, limit: Parcel.byteLimit).copy()
    let piece = CourierPiece(
      request: 1, copy: copy, hopsLeft: 0, branch: ParcelProof.noBranch, of: post.bytes, offset: 0)
    try await session.send(type: CourierPiece.type.rawValue, count: piece.encodedByteCount) {
      (writer) throws(WireError) in try piece.encode(into: &writer)
    }
    let end = try await recipient.arrivals.next()
    guard case .taken(let receipt?) = await receipts.next() else { throw Disorder(words: "nothing was taken") }
    try sender.vault.post.takeReceipt(receipt, handedOverBy: .session)
    try sender.expectDelivery(of: number)
    return (start, end)
  }
}

/// From one vault to another through the server, both being connected: from the order to send until it is durable at the recipient.
struct ServerVaults: Way {
  let name = "vault server"
  private let sender, recipient: Device
  private let clients: (ChatClient, ChatClient)
  private let receipts = Mailbox<ParcelTaking>()

  init(_ server: ChatServer, in folder: String) async throws {
    (sender, recipient) = (try await Device("cleo", in: folder), try await Device("dan", in: folder))
    try Device.introduce(sender, recipient)
    let (vault, receipts) = (recipient.vault, receipts)
    clients = (
      try await ChatClient("vault-from", on: server) { _ in },
      try await ChatClient("vault-to", on: server) { event in
        guard case .parcel(let part) = event else { return }
        do { receipts.put(try vault.intake.takeParcel(part.bytes, by: ParcelArrival(way: .account))) } catch {
          Complaint.say("\(error)")
        }
      }
    )
    try await Device.giveAccounts(sender, recipient, on: server)
  }

  func send(_ text: String) async throws -> (sent: Double, arrived: Double) {
    let start = Stopwatch.now()
    let number = try sender.write(text, to: recipient)
    let post = try sender.only(.account).post
    try await clients.0.connection.send(parcel: post.bytes, to: clients.1.address, id: post.id.description)
    let end = try await recipient.arrivals.next()
    guard case .taken(.some) = await receipts.next() else { throw Disorder(words: "nothing was taken") }
    try await clients.0.connection.ping()
    try sender.vault.post.handedToAccount(post.id)
    // The receipt goes back as a parcel, which isn't measured.
    let back = try recipient.only(.account).post
    guard case .known(let receipt?) = try sender.vault.intake.takeParcel(back.bytes, by: ParcelArrival(way: .account))
    else {
      throw Disorder(words: "no receipt was taken")
    }
    try recipient.vault.post.takeReceipt(receipt, handedOverBy: .session)
    try sender.expectDelivery(of: number)
    return (start, end)
  }
}

/// A meeting of two vaults, as the program does it: connecting, the handshake, who has what, and the parcel. From the order to send until it is
/// durable at the recipient.
struct MeetingVaults: Way {
  let name = "meeting"
  private let sender, recipient: Device

  init(in folder: String) async throws {
    (sender, recipient) = (try await Device("eva", in: folder), try await Device("finn", in: folder))
    try Device.introduce(sender, recipient)
  }

  func send(_ text: String) async throws -> (sent: Double, arrived: Double) {
    let start = Stopwatch.now()
    let number = try sender.write(text, to: recipient)
    _ = try await sender.vault.meetings.meet(recipient.name)
    let end = try await recipient.arrivals.next()
    try sender.expectDelivery(of: number)
    return (start, end)
  }
}

/// By a carrier: two meetings in a row. The parcel is durable at the sender, at the carrier and at the recipient, one after the other.
struct CarrierVaults: Way {
  let name = "carrier"
  private let sender, carrier, recipient: Device

  init(in folder: String) async throws {
    sender = try await Device("gus", in: folder)
    carrier = try await Device("hana", in: folder)
    recipient = try await Device("ivy", in: folder)
    try Device.introduce(sender, carrier)
    try Device.introduce(carrier, recipient)
    try Device.introduce(sender, recipient)
    _ = try await carrier.vault.meetings.meet(recipient.name)
    _ = try await carrier.vault.meetings.meet(sender.name)
  }

  func send(_ text: String) async throws -> (sent: Double, arrived: Double) {
    let start = Stopwatch.now()
    let number = try sender.write(text, to: recipient, pigeonsOnly: true)
    let first = try await sender.vault.meetings.meet(carrier.name)
    let second = try await carrier.vault.meetings.meet(recipient.name)
    guard first.given == 1, second.handedOver == 1 else {
      throw Disorder(words: "the carrier got \(first.given) parcels and handed over \(second.handedOver)")
    }
    let end = try await recipient.arrivals.next()
    // Until nobody has anything more for anybody: the receipt is carried back.
    for _ in 0..<8 {
      let back = try await carrier.vault.meetings.meet(sender.name)
      let more = try await carrier.vault.meetings.meet(recipient.name)
      if back.isEmpty, more.isEmpty { break }
    }
    try sender.expectDelivery(of: number)
    return (start, end)
  }
}

/// Through the server as two daemons do it, both connected: they look five times a second for what there is to send.
struct ServerDaemons: Way {
  let name = "daemon"
  private let sender, recipient: Device

  init(_ server: ChatServer, in folder: String) async throws {
    (sender, recipient) = (try await Device("jo", in: folder), try await Device("kim", in: folder))
    try Device.introduce(sender, recipient)
    try await Device.giveAccounts(sender, recipient, on: server)
    for device in [sender, recipient] {
      let vault = device.vault
      Task { await AccountRunner(vault).run() }
      for _ in 0..<1000 where try vault.accounts.accountConnection()?.state != .connected {
        try await Task.sleep(for: .milliseconds(20))
      }
    }
  }

  func send(_ text: String) async throws -> (sent: Double, arrived: Double) {
    // At any moment between two looks.
    try await Task.sleep(for: .milliseconds(Int.random(in: 0..<200)))
    let start = Stopwatch.now()
    _ = try sender.write(text, to: recipient)
    // Receipts come back within seconds, several at once: it isn't waited for them.
    return (start, try await recipient.arrivals.next())
  }
}

extension Device {
  /// Makes each an account at the server, and tells the other its address.
  static func giveAccounts(_ one: Device, _ other: Device, on server: ChatServer) async throws {
    for (device, peer) in [(one, other), (other, one)] {
      _ = try await VaultAccounts(device.vault).register(
        "\(device.name)@localhost",
        at: VaultAccounts.Place(host: "127.0.0.1", port: server.port, certificates: server.certificates),
        password: HeldSecret(try password(device.name)))
      _ = try device.vault.accounts.setAccountAddress(peer.name, to: "\(peer.name)@localhost")
    }
  }
}

/// Hands values from one task to another, in order.
final class Mailbox<Value: Sendable>: Sendable {
  private let arrivals = Arrivals()
  private let values = Mutex<[Value]>([])

  func put(_ value: Value) {
    values.withLock { $0.append(value) }
    arrivals.note()
  }

  func next() async -> Value? {
    guard (try? await arrivals.next()) != nil else { return nil }
    return values.withLock { $0.isEmpty ? nil : $0.removeFirst() }
  }
}
