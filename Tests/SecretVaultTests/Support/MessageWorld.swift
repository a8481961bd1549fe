import PeerAuth
import Sodium
import Testing
import VaultProtocol

@testable import SecretVault
@testable import VaultStore

extension Vault {
  /// Sends a text.
  @discardableResult
  func send(
    _ text: String, to peer: String, pigeonsOnly: Bool = false, lifetime: Int64? = nil
  ) throws -> MessageSummary {
    try messages.send(.text(held(Array(text.utf8))), to: peer, pigeonsOnly: pigeonsOnly, lifetime: lifetime)
  }

  /// Sends bytes as a file.
  @discardableResult
  func send(
    file bytes: [UInt8], name: String = "photo.jpg", caption: String? = nil, to peer: String
  ) throws -> MessageSummary {
    let file = MessageFile(
      name: name, mediaType: "image/jpeg", byteCount: UInt64(bytes.count), isPhoto: true,
      caption: try caption.map { try held(Array($0.utf8)) }
    ) { offset, count in
      do { return try held(Array(bytes[Int(offset)..<Int(offset) + count])) } catch {
        throw VaultError(.other, "no memory")
      }
    }
    return try messages.send(.file(file), to: peer)
  }

  /// What a message says.
  func text(of number: Int64) throws -> String? {
    try messages.messageText(number).map { String(decoding: plain($0), as: UTF8.self) }
  }

  /// A received file.
  func file(of number: Int64) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try messages.messageFile(number) { part in bytes += plain(part) }
    return bytes
  }

  /// Everything that goes by an account now, handed over.
  func handOverToAccount() throws -> [[UInt8]] {
    var all: [[UInt8]] = []
    while true {
      let posts = try post.outgoingParcels(way: .account)
      guard !posts.isEmpty else { return all }
      for one in posts {
        all.append(one.post.bytes)
        try post.handedToAccount(one.post.id)
      }
    }
  }

  /// Uses an account, and knows those of others.
  func logIn(_ address: String, friends: [Member: String] = [:]) throws {
    try accounts.useAccount(
      AccountRecord(id: [UInt8](repeating: 3, count: 16), address: address, resource: "test", isCurrent: true),
      password: held(Array("password".utf8)))
    for (member, address) in friends {
      try core.database.setPeerAddress(member.vault.core.identity.keys.digest, address)
    }
  }
}

extension Member: Hashable {
  static func == (one: Member, other: Member) -> Bool { one === other }
  func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

func held(_ bytes: [UInt8]) throws -> HeldSecret { HeldSecret(try SecretBytes(copying: bytes.span.bytes)) }

func plain(_ secret: HeldSecret) -> [UInt8] { secret.bytes.withUnsafeBytes { Array($0) } }

/// A letter with a message, with every part at choice.
struct ForgedMessage {
  let sender: Member
  let target: Member
  let envelope: MessageEnvelope

  init(_ sender: Member, to target: Member, at time: Int64? = nil) throws {
    self.sender = sender
    self.target = target
    envelope = try MessageEnvelope(lifetime: Post.parcelLifetime, at: time ?? sender.environment.now())
  }

  /// The parcel, encoded.
  func sealed(_ content: MessageContent) throws -> [UInt8] {
    try envelope.seal(content, from: sender.vault.core.identity, to: target.vault.core.identity.keys)
  }
}
