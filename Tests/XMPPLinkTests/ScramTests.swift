import Sodium
import Testing

@testable import XMPPLink
@testable import XMPPRequests

@Suite struct ScramTests {
  private func client(_ hash: ScramHash, _ nonce: String) throws -> ScramClient {
    let password = try Password(SecretBytes(copying: Array("pencil".utf8).span.bytes))
    return ScramClient(hash, user: "user", password: password, nonce: nonce)
  }

  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test func `the example of RFC 5802 comes out`() throws {
    let client = try client(.sha1, "fyko+d2lbbFgONRv9qkxdawL")
    #expect(text(client.opening) == "n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL")
    let answer = try client.answer(
      Array("r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096".utf8))
    #expect(
      text(answer) == "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=")
    try client.finish(Array("v=rmF9pqV8S7suAoZWja4dJRkFsKQ=".utf8))
  }

  @Test func `a second challenge is not answered: it would be another guess at the password`() throws {
    let client = try client(.sha1, "fyko+d2lbbFgONRv9qkxdawL")
    func challenge(_ rounds: Int) -> [UInt8] {
      Array("r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=\(rounds)".utf8)
    }
    _ = try client.answer(challenge(4096))
    #expect(throws: XMPPError.malformed("a challenge")) { try client.answer(challenge(4097)) }
  }

  @Test func `logins at the same time don't spoil one another's proofs`() async throws {
    let proofs = try await withThrowingTaskGroup(of: String.self) { tasks in
      for _ in 0..<16 {
        tasks.addTask {
          let client = try self.client(.sha1, "fyko+d2lbbFgONRv9qkxdawL")
          let challenge = "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096"
          return self.text(try client.answer(Array(challenge.utf8)))
        }
      }
      return try await tasks.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(proofs == ["c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts="])
  }

  @Test func `the example of RFC 7677 comes out`() throws {
    let client = try client(.sha256, "rOprNGfwEbeRWgbNEkqO")
    let answer = try client.answer(
      Array("r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".utf8))
    #expect(
      text(answer)
        == "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    try client.finish(Array("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=".utf8))
  }

  @Test func `a server that doesn't know the account is found out`() throws {
    let client = try client(.sha256, "rOprNGfwEbeRWgbNEkqO")
    #expect(throws: XMPPError.self) { try client.finish(Array("v=".utf8)) }
    _ = try client.answer(Array("r=rOprNGfwEbeRWgbNEkqOx,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".utf8))
    for claim in ["v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", "v=", "e=other-error", ""] {
      #expect(throws: XMPPError.self) { try client.finish(Array(claim.utf8)) }
    }
  }

  @Test(arguments: [
    "", "r=nonce1", "r=nonce1,s=QSXCR+Q6sek8bf92", "s=QSXCR+Q6sek8bf92,r=nonce1,i=4096",
    "r=nonce,s=QSXCR+Q6sek8bf92,i=4096",
    "r=other1,s=QSXCR+Q6sek8bf92,i=4096", "r=nonce1,s=,i=4096", "r=nonce1,s=!,i=4096",
    "r=nonce1,s=QSXCR+Q6sek8bf92,i=1",
    "r=nonce1,s=QSXCR+Q6sek8bf92,i=99999999999999999999", "r=nonce1,s=QSXCR+Q6sek8bf92,i=1000000000",
    "m=x,r=nonce1,s=QSXCR+Q6sek8bf92,i=4096", "\u{FF}",
  ])
  func `a challenge that isn't one is refused`(_ challenge: String) throws {
    let client = try client(.sha1, "nonce")
    #expect(throws: XMPPError.self) { try client.answer(Array(challenge.utf8)) }
  }
}
