import NetLink
import SecretVault
import VaultStore
import XMPPRequests

extension VaultError {
  /// A failure of an account in the words of a vault.
  init(_ error: XMPPError, account: String) {
    switch error {
    case .invalidAddress(let reason):
      self.init(.usage, "this is not an address that can be used: \(reason)", hint: "it looks like ada@example.org")
    case .invalidPassword(let reason): self.init(.usage, "the password can't be used: \(reason)")
    case .invalidContent(let reason): self.init(.usage, "this can't be sent: \(reason)")
    case .unreachable(let reason):
      self.init(
        .unreachable, "the server of \(account) can't be reached: \(reason)",
        hint: NetHelper.shared.hint
          ?? "is the network there? if the server is elsewhere than its address says, name it: --host and --port")
    case .untrusted(let reason):
      self.init(
        .refused, "the server of \(account) is not trusted: \(reason)",
        hint: "if it has a certificate of its own, name the file of who signed it: --certificates FILE")
    case .unencrypted: self.init(.refused, "the server of \(account) offers no encryption; nothing was said to it")
    case .noSafeLogin:
      self.init(.refused, "the server of \(account) wants the password itself to log in, and doesn't get it")
    case .wrongPassword:
      self.init(
        .refused, "\(account) doesn't exist, or this isn't its password",
        hint: "`vault account register` makes an account; `vault account login` takes the password anew")
    case .refused(let condition): self.init(.refused, "the server of \(account) refuses: \(condition)")
    case .registrationUnavailable(let reason):
      self.init(
        .refused, "the server of \(account) makes no accounts for this program: \(reason)",
        hint: "make one where the server says, then use `vault account login`")
    case .accountExists:
      self.init(.refused, "there is an account \(account) already", hint: "if it is yours: `vault account login`")
    case .malformed(let reason), .tooMuch(let reason):
      self.init(.damaged, "the server of \(account) doesn't keep to the protocol: \(reason)")
    case .streamEnded(let condition):
      self.init(.unreachable, "the server of \(account) ended the connection: \(condition)")
    case .closed, .busy: self.init(.unreachable, "the connection of \(account) ended")
    case .cancelled: self.init(.interrupted, "interrupted")
    case .tooManyFiles:
      self.init(
        .other, "too many files and connections are open in this program for one of \(account)",
        hint: "with fewer peers connected at once there is room; it is tried again")
    case .noResources: self.init(.other, "no memory, thread or descriptor is left for a connection")
    }
  }
}

extension AccountConnection.State {
  /// What a failed connection is for who asks how the account is.
  init(_ error: XMPPError) {
    switch error {
    case .wrongPassword: self = .wrongPassword
    case .untrusted, .unencrypted: self = .untrusted
    case .noSafeLogin, .refused, .malformed, .invalidAddress, .invalidPassword: self = .refused
    default: self = .unreachable
    }
  }
}

/// Runs `body` and reports what an account says as a vault's error.
func said<Value>(_ account: String, _ body: () async throws(XMPPError) -> Value) async throws -> Value {
  do throws(XMPPError) { return try await body() } catch { throw VaultError(error, account: account) }
}

/// An address in its normal form, without a device.
func address(_ text: String) throws -> JID {
  do throws(XMPPError) {
    let address = try JID(text)
    guard address.local != nil else { throw XMPPError.invalidAddress("nothing before the @") }
    guard address.resource == nil else { throw XMPPError.invalidAddress("something behind a /") }
    return address
  } catch { throw VaultError(error, account: text) }
}
