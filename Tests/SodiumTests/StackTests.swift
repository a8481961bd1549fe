import Sodium
import Testing

/// What calls of the library leave on the stack below their caller.
@Suite("The stack", .serialized)
struct StackTests {
  private static let paint: UInt8 = 0xee
  private static let areaByteCount = 1024

  /// Goes down the stack and, on the way back, paints an area in each frame, or takes down what is in it, the deepest first.
  @inline(never)
  private static func visit(_ depth: Int, _ areas: inout [[UInt8]]?) {
    withUnsafeTemporaryAllocation(byteCount: areaByteCount, alignment: 16) { area in
      if depth > 1 { visit(depth - 1, &areas) }
      if areas == nil {
        area.initializeMemory(as: UInt8.self, repeating: paint)
      } else {
        areas?.append(Array(area))
      }
    }
  }

  /// A part of each of the twelve KiB below `body`'s caller as `body` leaves them, the uppermost first.
  @inline(never)
  private static func areas(after body: () throws -> Void) throws -> [[UInt8]] {
    // Once before, so that nothing is loaded or made for the first time.
    try body()
    var none: [[UInt8]]?
    var areas: [[UInt8]]? = []
    areas?.reserveCapacity(12)
    visit(12, &none)
    try body()
    visit(12, &areas)
    return Array(try #require(areas).reversed())
  }

  /// Bytes that are neither painted nor wiped, from two KiB down to six: above lie the callers' own addresses and counts, and below
  /// those of the wiping itself.
  private static func left(by body: () throws -> Void) throws -> Int {
    try areas(after: body)[2..<5].joined().count { $0 != paint && $0 != 0 }
  }

  @Test("keeps nothing of what the library worked on")
  func arithmetic() throws {
    let secretKey = try SecretBytes(random: 32)
    let publicKey = try X25519.publicKey(of: secretKey)
    let scalar = try RistrettoScalar.random()
    let point = try RistrettoPoint(uniform: Randomness.bytes(64))
    let sealed = try X25519.seal(secretKey, to: publicKey)
    let digest = try Digest(Randomness.bytes(32))
    #expect(try Self.left { _ = try point.multiplied(by: scalar) } == 0)
    #expect(try Self.left { _ = try RistrettoPoint.commitment(to: scalar, blinding: scalar) } == 0)
    #expect(try Self.left { _ = try X25519.publicKey(of: secretKey) } == 0)
    #expect(try Self.left { _ = try X25519.sharedSecret(secretKey, with: publicKey).count } == 0)
    let left = try Self.left {
      _ = try X25519.open(sealed.span.bytes, publicKey: publicKey, secret: secretKey).count
    }
    #expect(left == 0)
    #expect(try Self.left { _ = try Ed25519.sign(digest, expanded: Ed25519.expand(secretKey)) } == 0)
  }

  @Test("keeps nothing of a prepared hash's key")
  func preparedHash() throws {
    let key = try SecretBytes(random: 32)
    var parts = HashParts()
    parts.append([UInt8](repeating: 1, count: 1000))
    let areas = try Self.areas {
      let prepared = try PreparedDomainHash("vault/test/v1", key: key)
      parts.withUnsafeBytes { parts in _ = prepared.matches(parts, parts) }
      parts.withUnsafeBytes { parts in
        #expect(!prepared.matches(parts, UnsafeRawBufferPointer(rebasing: parts[..<32])))
      }
    }
    let words = key.withUnsafeBytes { key in
      Set(stride(from: 0, to: 32, by: 8).map { key.loadUnaligned(fromByteOffset: $0, as: UInt64.self) })
    }
    for area in areas {
      let found = area.withUnsafeBytes { area in
        (0...(area.count - 8)).contains { words.contains(area.loadUnaligned(fromByteOffset: $0, as: UInt64.self)) }
      }
      #expect(!found)
    }
  }
}
