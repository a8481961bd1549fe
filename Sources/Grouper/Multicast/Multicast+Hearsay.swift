/// What others say of messages: how far they have them. It leads to questions, and to nothing else.
extension Multicast {
  mutating func confirmed(_ vector: VersionVector, by confirmer: NodeID, at now: UInt64) {
    // What he doesn't say any more, and nobody else says either, isn't spoken of.
    var spokenOf: [NodeID: Int] = [:]
    for (stream, row) in progress where row.isHearsay && row.holders[confirmer] != nil {
      if vector[stream] > 0 || row.contiguous > 0 {
        spokenOf[stream.node, default: 0] += 1
      } else {
        progress[stream]?.holders[confirmer] = nil
        if row.holders.count == 1 { progress[stream] = nil }
      }
    }
    for (stream, number) in vector.entries where members.keys.contains(stream.node) {
      // More of one's own than one has made is asked for like others' messages: only a signed one is believed.
      if stream == own, number <= contiguous(of: own) {
        progress[own]?.holders[confirmer] = nil
        continue
      }
      if progress[stream] == nil {
        guard spokenOf[stream.node, default: 0] < Self.hearsayLimit else { continue }
        guard progress.count < StreamID.limit || forgetHearsay(settled: true) else { continue }
        spokenOf[stream.node, default: 0] += 1
      }
      var row = progress[stream] ?? StreamProgress()
      row.holders[confirmer] = number
      if row.contiguous < row.rumoured { row.gapSince = row.gapSince ?? now }
      progress[stream] = row
    }
  }

  /// Whether there is a place for a stream of which a message has come: streams that are only spoken of make room for it.
  mutating func makeRoom(for stream: StreamID) -> Bool {
    if progress.keys.contains(stream) { return true }
    // Nobody takes the others' places.
    guard progress.count(where: { $0.key.node == stream.node && !$0.value.isHearsay }) < Self.countingLimit else {
      return false
    }
    return progress.count < StreamID.limit || forgetHearsay(settled: true) || forgetHearsay(settled: false)
  }

  /// Forgets one stream of which nobody has shown a message: one that was said to mean nothing any more, which at worst is asked for again, or
  /// one that is still asked for.
  private mutating func forgetHearsay(settled: Bool) -> Bool {
    let hearsay = progress.filter { $0.key != own && $0.value.isHearsay && ($0.value.contiguous > 0) == settled }
    guard let chosen = hearsay.keys.min() else { return false }
    progress[chosen] = nil
    return true
  }
}
