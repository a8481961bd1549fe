package import ShamirKit
import VaultProtocol

/// What a dealer says to a holder about the others. Nothing here can be opened by this device.
package struct IntroductionAsker: Sendable {
  package let secret: SecretID
  /// The number of the recipient's share.
  package let index: UInt8
  /// The others' cards, sealed to the recipient.
  package let sealed: [UInt8]
  /// Told what became of it: nil once it is durable there. Not called if it wasn't said.
  package let settle: @Sendable (LinkFailure?) -> Void

  func message(_ id: UInt64) -> Introduction {
    Introduction(request: id, secret: secret, index: index, sealed: sealed)
  }
}
