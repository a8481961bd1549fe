import ShamirKit
import Sodium
import Support

/// Splits a fresh key into shares, and rebuilds it from some of them: see `Examples/README.md`.
@main
struct SplitKey {
  static func main() async {
    await run("split-key") { arguments in
      do {
        switch (arguments.first, arguments.count) {
        case ("deal", 4): try deal(scheme(arguments[1], arguments[2]), into: arguments[3])
        case ("rebuild", 5...):
          try rebuild(scheme(arguments[1], arguments[2]), from: arguments[3], arguments[4...].map(index))
        default: throw Failure("say deal THRESHOLD SHARES FOLDER, or rebuild THRESHOLD SHARES FOLDER INDEX...")
        }
      } catch ShamirError.invalidScheme {
        throw Failure("it takes 2 to 255 shares, and a threshold from 2 to as many")
      } catch ShamirError.tooFewShares(let have, let need) {
        throw Failure("there are \(have) good shares, \(need) are needed")
      }
    }
  }

  static func deal(_ scheme: ThresholdScheme, into folder: String) throws {
    let id = try SecretID(Array((0..<16).map { _ in UInt8.random(in: 0...255) }))
    let dealing = try Dealing.fresh(scheme)
    for index in 1...UInt8(scheme.shareCount) {
      let share = try dealing.share(index)
      try SecretFile(creating: "\(folder)/share-\(index)").write(share.bytes.bytes)
    }
    // What everybody may know: which secret it is, and what its shares are checked against.
    try SecretFile(creating: "\(folder)/public").write((id.bytes + dealing.commitments.encoding()).span.bytes)
    // Whoever splits a key uses it first, for a payload say, and lets it go.
    let key = try dealing.fileKey(for: id)
    print(
      "Dealt \(scheme.shareCount) shares of a key of \(key.count) bytes, any \(scheme.threshold) of which rebuild it.")
  }

  static func rebuild(_ scheme: ThresholdScheme, from folder: String, _ indices: [UInt8]) throws {
    let known = try publicBytes("\(folder)/public")
    guard known.count > SecretID.byteCount else { throw Failure("\(folder)/public is damaged") }
    let id = try SecretID(Array(known.prefix(SecretID.byteCount)))
    let commitments = try Commitments(encoding: Array(known.dropFirst(SecretID.byteCount)))

    var collector = try ShareCollector(scheme: scheme, commitments: commitments)
    for index in indices {
      let bytes = try SecretFile(reading: "\(folder)/share-\(index)").secret(of: KeyShare.byteCount)
      do { try collector.add(KeyShare(index: index, bytes: bytes)) } catch ShamirError.malformedShare {
        print("Share \(index) is none.")
      }
    }
    do { try collector.verify() } catch ShamirError.invalidShares(let bad) {
      print("Not what was dealt: \(bad).")
    }
    let key = try collector.fileKey(for: id)
    try SecretFile(creating: "\(folder)/key").write(key.bytes)
    print("Rebuilt the key from \(collector.verifiedIndices.prefix(scheme.threshold)): it is in \(folder)/key.")
  }

  private static func scheme(_ threshold: String, _ count: String) throws -> ThresholdScheme {
    guard let threshold = Int(threshold), let count = Int(count) else { throw ShamirError.invalidScheme }
    return try ThresholdScheme(threshold: threshold, shareCount: count)
  }

  private static func index(_ text: String) throws -> UInt8 {
    guard let index = UInt8(text), index > 0 else { throw Failure("\(text) is no number of a share") }
    return index
  }

  private static func publicBytes(_ path: String) throws -> [UInt8] {
    let file = try SecretFile(reading: path)
    let bytes = try file.secret(of: file.byteCount())
    return bytes.withUnsafeBytes { Array($0) }
  }
}
