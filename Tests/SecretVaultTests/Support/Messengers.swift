import Courier
import Sodium
import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault

/// Members who write to one another.
extension Member {
  /// Writes a text for another member; nothing is sent yet.
  @discardableResult
  func say(_ text: String, to other: Member, pigeonsOnly: Bool = false) throws -> MessageSummary {
    try vault.messages.send(.text(HeldSecret(secretBytes(text))), to: other.name, pigeonsOnly: pigeonsOnly)
  }

  /// Writes a file of random bytes.
  @discardableResult
  func say(fileOf byteCount: Int, to other: Member) throws -> MessageSummary {
    let content = randomBytes(byteCount)
    let file = MessageFile(
      name: "file", mediaType: "", byteCount: UInt64(byteCount), isPhoto: false, caption: nil
    ) { (offset, count) throws in
      do {
        return HeldSecret(try SecretBytes(copying: Array(content[Int(offset)..<Int(offset) + count]).span.bytes))
      } catch { throw VaultError(.other, "no memory is left") }
    }
    return try vault.messages.send(.file(file), to: other.name)
  }

  /// What others have written to it, oldest first.
  func received() throws -> [MessageSummary] {
    try vault.messages.messages(with: nil, unreadOnly: false, search: nil, limit: 1000).filter { !$0.isMine }
      .sorted { $0.number < $1.number }
  }

  /// The texts of these.
  func texts() throws -> [String] {
    try received().filter { $0.kind == .text && $0.state != "partial" }.map { message in
      let text = try #require(try vault.messages.messageText(message.number))
      return text.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
  }

  /// What it carries for others.
  func carried() throws -> [CarriedParcel] { Array(try vault.carrying.readCourier().satchel.parcels.values) }

  /// Meets another member.
  @discardableResult
  func meet(_ other: Member) async throws -> MeetingReport { try await vault.meetings.meet(other.name) }
}
