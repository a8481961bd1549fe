import SealedPayload

/// A recovered payload on its way into another sharing: its header in secret memory, its body in an ``EncryptedSpool``, which
/// holds a file of any size without a readable byte on the disk.
///
/// Written by one recovery and then read by one sharing, one after the other, so that nobody is at it at the same time.
package final class RecoveredSpool: @unchecked Sendable {
  struct Parts: ~Copyable {
    let header: PayloadHeader
    let body: any PlaintextSource
  }

  private let spool: EncryptedSpool
  private var header: PayloadHeader?

  init(stagingFolder: String) throws {
    spool = try EncryptedSpool(name: "the recovered secret", stagingFolder: stagingFolder)
  }

  func begin(_ opener: borrowing PayloadOpener) throws {
    do { header = try opener.withHeader { (header) throws(PayloadError) in try header.duplicate() } } catch {
      throw VaultError(.other, "no memory is left for the recovered secret")
    }
  }

  /// Bytes must have verified.
  func append(_ bytes: UnsafeRawBufferPointer) throws { try spool.append(bytes) }

  /// What is in it; once.
  func take() throws -> Parts {
    guard let header = header.take() else { throw VaultError(.other, "this was shared already") }
    try spool.finish()
    return Parts(header: header, body: spool)
  }
}
