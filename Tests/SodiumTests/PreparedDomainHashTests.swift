import Sodium
import Testing

@Suite("A prepared domain hash")
struct PreparedDomainHashTests {
  @Test("says of each list of parts what a hash of its own says, again and again")
  func sameAsOneByOne() throws {
    let key = try secret([UInt8](repeating: 7, count: 32))
    let prepared = try PreparedDomainHash("vault/test/v1", key: key)
    for count in [0, 1, 31, 100, 127, 128, 129, 300, 1000] {
      let part = [UInt8](repeating: UInt8(count & 255), count: count)
      var hash = try DomainHash("vault/test/v1", key: key.bytes)
      hash.append(part)
      hash.append(count.description)
      let expected = hash.digest()
      var parts = HashParts()
      parts.append(part)
      parts.append(Array(count.description.utf8))
      for _ in 0..<2 { #expect(matches(prepared, parts, expected.bytes)) }
      // Fed to a plain hash the parts give the same.
      var other = try DomainHash("vault/test/v1", key: key.bytes)
      other.append(parts)
      #expect(other.digest() == expected)
      for place in [0, 15, 31] {
        var wrong = expected.bytes
        wrong[place] ^= 1
        #expect(!matches(prepared, parts, wrong))
      }
      #expect(!matches(prepared, parts, Array(expected.bytes.prefix(31))))
      parts.append([0])
      #expect(!matches(prepared, parts, expected.bytes))
      parts.removeAll()
      #expect(parts.byteCount == 0)
    }
  }

  @Test("depends on its label and its key")
  func separation() throws {
    let key = try secret([UInt8](repeating: 7, count: 32))
    let other = try secret([UInt8](repeating: 8, count: 32))
    let expected = try DomainHash("vault/test/v1", key: key.bytes).digest().bytes
    #expect(matches(try PreparedDomainHash("vault/test/v1", key: key), HashParts(), expected))
    #expect(!matches(try PreparedDomainHash("vault/test/v1", key: other), HashParts(), expected))
    #expect(!matches(try PreparedDomainHash("vault/other/v1", key: key), HashParts(), expected))
  }

  private func matches(_ hash: PreparedDomainHash, _ parts: HashParts, _ expected: [UInt8]) -> Bool {
    parts.withUnsafeBytes { parts in expected.withUnsafeBytes { hash.matches(parts, $0) } }
  }
}
