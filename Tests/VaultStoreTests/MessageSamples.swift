import Sodium
import Testing
import VaultProtocol

@testable import VaultStore

func held(_ text: String) throws -> HeldSecret { HeldSecret(try VaultStoreTests.text(text)) }

func sampleMessage(
  _ number: UInt8, _ direction: MessageRecord.Direction, _ state: MessageRecord.State, peer: String = "cleo",
  kind: MessageRecord.Kind = .text, byteCount: Int64 = 4, parts: Int = 1, storedAt: Int64 = 20
) throws -> MessageRecord {
  MessageRecord(
    id: sampleID(number), peer: try digest(peer), direction: direction, kind: kind, isSealed: true,
    name: kind == .text ? nil : "letter ✉️.pdf", mediaType: kind == .text ? nil : "application/pdf",
    byteCount: byteCount, partCount: parts, digest: kind == .text ? nil : try digest("the file"), sentAt: 10,
    storedAt: storedAt, state: state)
}

func samplePlainMessage(_ number: UInt8, account: UInt8 = 1, _ state: MessageRecord.State = .new) -> MessageRecord {
  MessageRecord(
    id: sampleID(number), account: sampleID(account), contact: "friend@example.org", direction: state.direction,
    kind: .text, isSealed: false, byteCount: 4, sentAt: 10, storedAt: 20, state: state)
}

func sampleParcel(
  _ number: UInt8, of message: MessageRecord, direction: ParcelRecord.Direction = .message,
  state: ParcelRecord.State = .waiting
) throws -> ParcelRecord {
  ParcelRecord(
    id: sampleID(number), direction: direction, state: state, peer: try #require(message.peer), createdAt: 10,
    expiresAt: 1000, seed: [UInt8](repeating: number, count: 32), message: message.id,
    ways: .init([.session, .carriers]), handedOver: [.account: 5])
}

func sampleAccount(_ number: UInt8, isCurrent: Bool = false) -> AccountRecord {
  AccountRecord(
    id: sampleID(number), address: "user\(number)@example.org", resource: "vault", isCurrent: isCurrent)
}
