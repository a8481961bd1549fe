import Sodium

/// SCRAM as a client (RFC 5802, 7677): shows that it knows the password without telling it, and asks the same of the
/// server.
package final class ScramClient {
  /// What servers may ask for. Fewer rounds than the standards' least would make guessing cheap for who copies the
  /// server's table; more would stop this machine for seconds.
  static let rounds = 4096...500_000
  package static let limits = (message: 4096, salt: 256)

  let hash: ScramHash
  private let password: Password
  private let first: String
  private let nonce: String
  /// What the server has to show; of this exchange alone, and sent by it in the end.
  private var signature: [UInt8] = []

  /// - Parameter nonce: printable characters without a comma, fresh; tests give one.
  init(_ hash: ScramHash, user: String, password: Password, nonce: String) {
    self.hash = hash
    self.password = password
    self.nonce = nonce
    let name = user.replacing("=", with: "=3D").replacing(",", with: "=2C")
    first = "n=\(name),r=\(nonce)"
  }

  /// Without binding to the channel, which libstrophe 0.12 gives no means for.
  var opening: [UInt8] { Array(("n,," + first).utf8) }

  /// The answer to the server's challenge.
  func answer(_ challenge: [UInt8]) throws(XMPPError) -> [UInt8] {
    // One nonce, one answer: a second would be another guess at the password.
    guard signature.isEmpty, challenge.count <= Self.limits.message,
      let text = String(validating: challenge, as: UTF8.self)
    else { throw .malformed("a challenge") }
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    guard parts.count >= 3, parts[0].hasPrefix("r="), parts[1].hasPrefix("s="), parts[2].hasPrefix("i=") else {
      throw .malformed("a challenge")
    }
    let joined = parts[0].dropFirst(2)
    guard joined.hasPrefix(nonce), joined.utf8.count > nonce.utf8.count else {
      throw .untrusted("it answers another question")
    }
    guard let salt = Base64Text.decodePublic(String(parts[1].dropFirst(2)), limit: Self.limits.salt), !salt.isEmpty,
      let iterations = Int(parts[2].dropFirst(2))
    else { throw .malformed("a challenge") }
    guard Self.rounds.contains(iterations) else { throw .untrusted("it asks for \(iterations) rounds of its hash") }
    let last = "c=biws,r=\(joined)"
    let signed = Array("\(first),\(text),\(last)".utf8)
    do throws(SodiumError) {
      return Array((last + ",p=").utf8) + (try prove(signed, salt: salt, iterations: iterations))
    } catch { throw .noResources }
  }

  /// The proof in Base64; keeps what the server has to show.
  private func prove(_ signed: [UInt8], salt: [UInt8], iterations: Int) throws(SodiumError) -> [UInt8] {
    let stretched = try hash.stretched(password.bytes, salt: salt, iterations: iterations)
    let message = signed.span.bytes
    let clientKey = try hash.hmac(key: stretched.bytes, Array("Client Key".utf8).span.bytes)
    let storedKey = try hash.hash(clientKey.bytes)
    let clientSignature = try hash.hmac(key: storedKey.bytes, message)
    let serverKey = try hash.hmac(key: stretched.bytes, Array("Server Key".utf8).span.bytes)
    signature = try hash.hmac(key: serverKey.bytes, message).withUnsafeBytes { Array($0) }
    // The proof is for everybody to see.
    let proof = clientKey.withUnsafeBytes { key in
      clientSignature.withUnsafeBytes { signature in zip(key, signature).map { $0 ^ $1 } }
    }
    return Base64Text.encodePublic(proof)
  }

  /// Checks that the server knows what belongs to the password as well.
  func finish(_ success: [UInt8]) throws(XMPPError) {
    guard success.count <= Self.limits.message, let text = String(validating: success, as: UTF8.self),
      text.hasPrefix("v="),
      let part = text.dropFirst(2).split(separator: ",", omittingEmptySubsequences: false).first,
      let shown = Base64Text.decodePublic(String(part), limit: 64)
    else { throw .untrusted("it doesn't show that it knows the account") }
    let expected = signature
    guard !expected.isEmpty, constantTimeEqual(expected.span.bytes, shown.span.bytes) else {
      throw .untrusted("it doesn't know the account")
    }
  }
}
