/// An input that is kept: made here, so that everybody can see what it is.
struct Sample {
  let target: String
  /// What is wrong with it, or `valid`.
  let name: String
  let bytes: [UInt8]

  /// All that can be made.
  static func all() throws -> [Sample] {
    try CardSamples.all() + ProtocolSamples.all() + LifecycleSamples.all() + SessionSamples.all() + PayloadSamples.all()
      + ItemSamples.all()
      + ParcelSamples.all() + MeetingSamples.all() + StoreSamples.all() + StateSamples.all() + TextSamples.all()
      + URLSamples.all() + AgeSamples.all()
      + LocalSamples.all()
      + BluetoothSamples.all()
      + ServerSamples.all() + AnswerSamples.all() + GatheringSamples.all() + GroupSamples.all() + PictureSamples.all()
  }

  /// Several for one target.
  static func of(_ target: String, _ inputs: KeyValuePairs<String, [UInt8]>) -> [Sample] {
    inputs.map { Sample(target: target, name: $0.key, bytes: $0.value) }
  }

  /// Several texts for one target.
  static func of(_ target: String, texts: KeyValuePairs<String, String>) -> [Sample] {
    texts.map { Sample(target: target, name: $0.key, bytes: Array($0.value.utf8)) }
  }
}

extension [UInt8] {
  /// The same with other bytes from `place` on.
  func with(_ place: Int, _ bytes: [UInt8]) -> [UInt8] {
    Array(prefix(place)) + bytes + dropFirst(place + bytes.count)
  }

  /// The same without its last bytes.
  func without(last count: Int) -> [UInt8] { Array(dropLast(count)) }

  /// The same with more bytes in between.
  func inserting(_ bytes: [UInt8], at place: Int) -> [UInt8] { Array(prefix(place)) + bytes + dropFirst(place) }

  /// Behind its length of 16 bits.
  var counted: [UInt8] { bigEndian(UInt16(count)) + self }
}

/// `count` times the same byte.
func many(_ byte: UInt8, _ count: Int) -> [UInt8] { [UInt8](repeating: byte, count: count) }
