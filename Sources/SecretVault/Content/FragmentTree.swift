import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// The Merkle tree behind a fragment whose pieces are all here.
struct FragmentTree {
  let header: SecretHeader
  let index: UInt8
  let partial: PartialFragment
  let leaves: LeafList

  /// Writes the Merkle tree behind the fragment, in constant memory.
  func write() throws {
    let plan = header.dispersal
    let layout = try MerkleLayout(leafCount: plan.stripeCount)
    if leaves.isComplete {
      try partial.writeTrailer(leaves.bytes.span.bytes, at: 0)
    } else {
      for number in 0..<plan.stripeCount {
        let bytes = try partial.read(piece: Int(clamping: number))
        let leaf = try MerkleLeaf.digest(
          secret: header.id, fragment: index, piece: number, bytes: bytes.span.bytes)
        try partial.writeTrailer(leaf.bytes.span.bytes, at: Int64(clamping: layout.offset(level: 0, index: number)))
      }
    }
    let root = try MerkleTreeBuilder(layout).build(
      read: { (offset, count) throws(StoreError) in
        try partial.readTrailer(at: Int64(clamping: offset), count: count)
      },
      write: { (offset, bytes) throws(StoreError) in
        try partial.writeTrailer(bytes.span.bytes, at: Int64(clamping: offset))
      },
      failure: { error in StoreError.damaged("a Merkle tree: \(error)") })
    guard try header.root(of: index) == root else { throw ProtocolError.fragmentMismatch }
  }
}
