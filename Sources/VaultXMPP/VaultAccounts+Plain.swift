package import SecretVault
import Sodium
package import VaultProtocol
import VaultStore
import XMPPRequests

extension VaultAccounts {
  /// Keeps a text for somebody without a vault, to be sent as it is by the account in use: servers can read it. Asks
  /// nobody.
  package func sendPlain(_ text: HeldSecret, to reference: String) throws -> MessageSummary {
    let account = try find(nil)
    guard !accounts.leavesServersOut() else {
      throw VaultError(
        .refused, "the setting pigeons-only is on, and a plain text goes through servers; nothing was sent",
        hint: "vault settings set pigeons-only off")
    }
    let contact = try address(reference).description
    guard contact != account.address else { throw VaultError(.usage, "this is the account itself") }
    guard (1...XMPPMessage.bodyLimit).contains(text.count) else {
      throw VaultError(.usage, "a text has 1 to \(XMPPMessage.bodyLimit) bytes")
    }
    let isText = text.bytes.withUnsafeBytes { bytes in
      String(validating: bytes, as: UTF8.self) != nil
        && bytes.allSatisfy { $0 >= 0x20 || $0 == 0x0A || $0 == 0x09 || $0 == 0x0D }
        // U+FFFE and U+FFFF: XML has no place for them.
        && !zip(bytes, zip(bytes.dropFirst(), bytes.dropFirst(2))).contains { first, others in
          first == 0xEF && others.0 == 0xBF && others.1 >= 0xBE
        }
    }
    guard isText else { throw VaultError(.usage, "this is no text that can be sent: UTF-8 without control characters") }
    let id: [UInt8]
    do { id = try Randomness.bytes(16) } catch { throw VaultError(.other, "no random bytes: \(error)") }
    // Whoever writes to somebody wants an answer.
    try accounts.unblockContact(account.id, contact)
    let number = try messages.keepPlain(
      PlainMessage(id: id, contact: contact, isMine: true, text: text, sentAt: core.surroundings.now()),
      account: account.id, isSent: false)
    guard let number else { throw VaultError(.other, "the message could not be kept") }
    return try messages.message(number)
  }
}
