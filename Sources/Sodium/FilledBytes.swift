/// `count` public bytes that `body` writes; what it leaves is zero.
package func filledBytes<Failure: Error>(
  _ count: Int, _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
) throws(Failure) -> [UInt8] {
  var bytes = [UInt8](repeating: 0, count: count)
  var failure: Failure?
  bytes.withUnsafeMutableBytes { buffer in
    do throws(Failure) { try body(buffer) } catch { failure = error }
  }
  if let failure { throw failure }
  return bytes
}
