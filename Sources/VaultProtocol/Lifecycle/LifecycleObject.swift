package import PeerAuth
package import Sodium
package import WireCodec

/// What devices hand on to one another about how a secret's sharing changes. Each says itself who made it, or follows
/// from others, so that it doesn't matter by whom it comes.
package enum LifecycleObject: Hashable, Sendable {
  /// Most bytes of one.
  package static let byteLimit = 131_072

  package enum Kind: UInt8, Hashable, Sendable, CaseIterable {
    case header = 1
    case joining = 2
    case proposal = 3
    case dealing = 4
    case record = 5
  }

  /// The dealer's header, with what whoever gives it knows: the dealer's card digest, and that of the card in whose place
  /// who gets it has been put. Nobody has signed these.
  case header(SecretHeader, dealer: Digest, former: Digest?)
  case joining(Joining)
  case proposal(Proposal)
  /// With a box for each row.
  case dealing(HolderDealing, boxes: [[UInt8]])
  case record(RecordName)

  private static let nobody = [UInt8](repeating: 0, count: Digest.byteCount)

  package var kind: Kind {
    switch self {
    case .header: .header
    case .joining: .joining
    case .proposal: .proposal
    case .dealing: .dealing
    case .record: .record
    }
  }

  /// What it is known by.
  package func digest() throws(ProtocolError) -> Digest {
    switch self {
    case .header(let header, _, _): header.digest
    case .joining(let joining): try joining.digest()
    case .proposal(let proposal): try proposal.digest()
    case .dealing(let dealing, _): try dealing.digest()
    case .record(let name): try name.digest()
    }
  }

  package func encoded() throws(WireError) -> [UInt8] {
    switch self {
    case .header(let header, let dealer, let former):
      return dealer.bytes + (former?.bytes ?? Self.nobody) + header.bytes
    case .joining(let joining): return try joining.encoded()
    case .proposal(let proposal): return try proposal.encoded()
    case .dealing(let dealing, let boxes):
      guard let count = UInt8(exactly: boxes.count) else { throw .limitExceeded(field: "boxes", limit: 255) }
      return try dealing.encoded() + [count] + boxes.joined()
    case .record(let name): return try name.encoded()
    }
  }

  /// Reads one and checks all that it says of itself: signatures, and that boxes are the dealing's.
  package init(_ kind: Kind, _ bytes: [UInt8]) throws(ProtocolError) {
    do {
      switch kind {
      case .header:
        var reader = Reader(bytes.span.bytes)
        let dealer = try VaultProtocol.digest(from: &reader, "dealer")
        let former = try VaultProtocol.digest(from: &reader, "former card")
        self = .header(
          try SecretHeader(bytes: Array(bytes.dropFirst(2 * Digest.byteCount))), dealer: dealer,
          former: former.bytes == Self.nobody ? nil : former)
      case .joining: self = .joining(try .decode(bytes, limit: Joining.byteCount))
      case .proposal: self = .proposal(try .decode(bytes, limit: Proposal.byteLimit))
      case .record: self = .record(try .decode(bytes, limit: RecordName.byteLimit))
      case .dealing:
        var reader = Reader(bytes.span.bytes)
        let dealing = try HolderDealing(from: &reader)
        let boxes = try values(Int(try reader.u8("boxes")), from: &reader) { reader throws(WireError) in
          try reader.bytes(SubshareBox.byteCount, "box")
        }
        try reader.finish()
        guard try HolderDealing.digest(of: boxes) == dealing.boxes else {
          throw ProtocolError.foreignProposal("boxes")
        }
        self = .dealing(dealing, boxes: boxes)
      }
    } catch { throw ProtocolError(error, other: .foreignProposal("object")) }
  }
}

/// Which dealings make a record, where proposal and dealings are known by themselves. The proposal's asker signs the
/// record's digest, so that nobody else makes a second record of its proposal.
package struct RecordName: WireValue, Hashable, Sendable {
  package static let version: UInt8 = 1
  package static let byteLimit = 1 + Digest.byteCount + 1 + 255 * Digest.byteCount + Ed25519.signatureByteCount

  package let proposal: Digest
  /// In the order of their dealers.
  package let dealings: [Digest]
  package let signature: [UInt8]

  init(proposal: Digest, dealings: [Digest], signature: [UInt8]) {
    self.proposal = proposal
    self.dealings = dealings
    self.signature = signature
  }

  package static func sign(
    _ dealings: [Digest], of proposal: Digest, by asker: Identity
  ) throws(ProtocolError) -> RecordName {
    do {
      let signature = try asker.sign(digest(proposal, dealings))
      return RecordName(proposal: proposal, dealings: dealings, signature: signature)
    } catch { throw ProtocolError(error, other: .foreignProposal("record")) }
  }

  /// The record's digest.
  package func digest() throws(ProtocolError) -> Digest { try Self.digest(proposal, dealings) }

  package func verify(_ asker: CardKeys) throws(ProtocolError) {
    let signed = try digest()
    guard (try? Ed25519.verify(signature, of: signed, by: asker.signing)) != nil else {
      throw .foreignProposal("record")
    }
  }

  static func digest(_ proposal: Digest, _ dealings: [Digest]) throws(ProtocolError) -> Digest {
    do throws(SodiumError) {
      var hash = try DomainHash("vault/record/v1")
      hash.append(proposal)
      for dealing in dealings { hash.append(dealing) }
      return hash.digest()
    } catch { throw .sodium(error) }
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(Self.version)
    try writer.bytes(proposal.bytes)
    guard let count = UInt8(exactly: dealings.count) else { throw .limitExceeded(field: "dealings", limit: 255) }
    try writer.u8(count)
    for dealing in dealings { try writer.bytes(dealing.bytes) }
    try write(signature, count: Ed25519.signatureByteCount, "record signature", into: &writer)
  }

  package init(from reader: inout Reader) throws(WireError) {
    try reader.version(Self.version, "record version")
    proposal = try VaultProtocol.digest(from: &reader, "proposal")
    dealings = try values(Int(try reader.u8("dealings")), from: &reader) { reader throws(WireError) in
      try VaultProtocol.digest(from: &reader, "dealing")
    }
    signature = try reader.bytes(Ed25519.signatureByteCount, "record signature")
  }
}
