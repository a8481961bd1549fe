import CSodium

/// The only place where a secret may live: locked, guarded, zeroed when it ends, and never copied by accident.
///
/// The memory comes from `sodium_malloc`: page-locked where RLIMIT_MEMLOCK allows, fenced by guard pages,
/// left out of core dumps, and wiped when the value ends. Small regions are used again (``SecretRegions``); a fresh one
/// costs tens of microseconds, so a value should hold all that belongs together (all shares of one dealing, for example).
///
/// The type has no description and no `==`: compare with ``matches(_:)``, which takes the same time whatever the bytes.
public struct SecretBytes: ~Copyable, @unchecked Sendable {
  @usableFromInline let base: UnsafeMutableRawPointer
  public let count: Int

  /// Takes `count` zero bytes of secret memory.
  public init(zeros count: Int) throws(SodiumError) {
    base = try Self.allocate(count)
    self.count = count
  }

  private static func allocate(_ count: Int) throws(SodiumError) -> UnsafeMutableRawPointer {
    try SodiumLibrary.ready()
    guard count >= 0, let base = SecretRegions.take(max(count, 1)) else { throw .outOfSecretMemory }
    return base
  }

  /// Takes `count` fresh random bytes.
  public init(random count: Int) throws(SodiumError) {
    try self.init(zeros: count)
    randombytes_buf(base, count)
  }

  /// Takes a copy of `bytes`.
  public init(copying bytes: RawSpan) throws(SodiumError) {
    try self.init(zeros: bytes.byteCount)
    bytes.withUnsafeBytes { source in
      if let start = source.baseAddress { base.copyMemory(from: start, byteCount: source.count) }
    }
  }

  /// Lets `fill` write into the memory directly; what it leaves unwritten stays zero.
  package init(count: Int, fill: (inout OutputRawSpan) throws(SodiumError) -> Void) throws(SodiumError) {
    base = try Self.written(count, Self.allocate(count), fill)
    self.count = count
  }

  /// Lets `fill`, which throws an error of its own kind, write into the memory directly.
  /// A failed allocation is reported through `allocation`, which turns it into that kind.
  package init<Failure: Error>(
    count: Int, allocation: (SodiumError) -> Failure, fill: (inout OutputRawSpan) throws(Failure) -> Void
  ) throws(Failure) {
    let memory: UnsafeMutableRawPointer
    do throws(SodiumError) { memory = try Self.allocate(count) } catch { throw allocation(error) }
    base = try Self.written(count, memory, fill)
    self.count = count
  }

  private static func written<Failure: Error>(
    _ count: Int, _ memory: UnsafeMutableRawPointer, _ fill: (inout OutputRawSpan) throws(Failure) -> Void
  ) throws(Failure) -> UnsafeMutableRawPointer {
    let buffer = UnsafeMutableRawBufferPointer(start: memory, count: count)
    var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
    do throws(Failure) {
      try fill(&output)
    } catch {
      SecretRegions.give(memory, max(count, 1))
      throw error
    }
    _ = output.finalize(for: buffer)
    return memory
  }

  deinit { SecretRegions.give(base, max(count, 1)) }

  /// A view of the bytes, valid while this value is borrowed.
  public var bytes: RawSpan {
    @_lifetime(borrow self) get {
      let span = RawSpan(_unsafeStart: base, byteCount: count)
      return _overrideLifetime(span, borrowing: self)
    }
  }

  /// A writable view of the bytes.
  public var mutableBytes: MutableRawSpan {
    @_lifetime(&self) mutating get {
      let span = MutableRawSpan(_unsafeStart: base, byteCount: count)
      return _overrideLifetime(span, mutating: &self)
    }
  }

  /// Lends the bytes to a C function. The pointer must not outlive `body`.
  public func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(start: base, count: count))
  }

  /// Lends the bytes to a C function that writes them. The pointer must not outlive `body`.
  public mutating func withUnsafeMutableBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeMutableRawBufferPointer(start: base, count: count))
  }

  /// A second, independent owner of the same bytes. Spelled out because every copy is one more place to protect.
  public func duplicate() throws(SodiumError) -> SecretBytes {
    try SecretBytes(copying: bytes)
  }

  /// Zeroes the bytes now instead of at the end of the value's life.
  public mutating func wipe() {
    sodium_memzero(base, count)
  }

  /// Compares in constant time. Lengths are public: different lengths answer at once.
  public func matches(_ other: borrowing SecretBytes) -> Bool {
    count == other.count && sodium_memcmp(base, other.base, count) == 0
  }
}

/// Compares two public-length byte strings in constant time.
package func constantTimeEqual(_ left: RawSpan, _ right: RawSpan) -> Bool {
  guard left.byteCount == right.byteCount else { return false }
  guard left.byteCount > 0 else { return true }
  return left.withUnsafeBytes { a in
    right.withUnsafeBytes { b in sodium_memcmp(a.baseAddress, b.baseAddress, a.count) == 0 }
  }
}
