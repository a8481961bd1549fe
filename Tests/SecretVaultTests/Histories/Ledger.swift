import Sodium
import Testing
import VaultProtocol

@testable import SecretVault
@testable import ShamirKit

/// Who holds which shares of a secret, read from the databases of honest devices, and what befell them.
struct Ledger {
  private struct Stolen: Hashable {
    let epoch: Digest
    let index: UInt8
    let bytes: [UInt8]
  }

  private(set) var epochs: [Digest: Epoch] = [:]
  /// Epochs of which each device has shares.
  private(set) var held: [Int: Set<Digest>] = [:]
  /// Who has ever had a share of an epoch, durably, and said so.
  private var takers: [Digest: Set<Int>] = [:]
  /// Whose share of an epoch is gone with its device, or with what has happened since an older copy was made of it.
  private var struck: [Digest: Set<Int>] = [:]
  /// Every share that was ever somewhere.
  private var shares: Set<Stolen> = []
  private(set) var erased = 0

  var newest: Epoch? { epochs.values.max { $0.number < $1.number } }
  var changes: Int { epochs.count - 1 }

  // MARK: - What is seen

  /// Takes note of what a device holds now. What it held before and doesn't any more, it has erased: that is what may
  /// be wrong. `agreed` are the proposals to which its person has said yes, `cards` those of honest devices.
  mutating func see(
    _ member: Int, _ circles: Circles, _ id: SecretID, agreed: Set<Digest>, cards: [Digest: Int]
  ) throws -> [String] {
    guard let circle = try circles.circle(of: id) else { return [] }
    epochs.merge(circle.epochs) { known, _ in known }
    let own = try circles.held(circle)
    let now = Set(own.map(\.digest))
    var wrong: [String] = []
    for epoch in own where held[member]?.contains(epoch.digest) != true {
      guard let share = try circles.share(of: epoch) else { continue }
      shares.insert(
        Stolen(
          epoch: epoch.digest, index: share.share.index, bytes: share.share.bytes.withUnsafeBytes { Array($0) }))
      struck[epoch.digest]?.remove(member)
    }
    // Who is honest says that it has a share only when it has, and it may have gone on to a later one since.
    for epoch in circle.epochs.values {
      let ready = circle.ready(in: epoch.digest).values.compactMap { cards[$0.keys.digest] }
      takers[epoch.digest, default: []].formUnion(ready)
    }
    for digest in (held[member] ?? []).subtracting(now) {
      erased += 1
      let number = epochs[digest]?.number ?? 0
      let later = own.filter { $0.number > number }
      let wanted = later.filter { circle.changes[$0.digest].map { agreed.contains($0.name.proposal) } ?? false }
      if wanted.isEmpty {
        wrong.append(
          "\(member) erased its share of \(number) and has \(later.map(\.number)), to which its person hasn't said yes")
      } else if !wanted.contains(where: { takers[$0.digest]?.count ?? 0 >= $0.scheme.threshold }) {
        wrong.append("\(member) erased its share of \(number), and too few had taken over \(wanted.map(\.number))")
      }
    }
    held[member] = now
    return wrong
  }

  /// A device is lost, or only what an older copy of it has is left.
  mutating func strike(_ member: Int, leaving left: Set<Digest> = []) {
    for digest in (held[member] ?? []).subtracting(left) { struck[digest, default: []].insert(member) }
    held[member] = left
  }

  // MARK: - What follows

  /// Whether what is promised still holds if fate strikes a device so: of each epoch no more than t−1 holders, or n−t,
  /// lie or have lost the share that they had.
  func bears(_ member: Int, leaving left: Set<Digest> = [], liar: Digest?) -> Bool {
    (held[member] ?? []).subtracting(left).allSatisfy { digest in
      guard let epoch = epochs[digest] else { return true }
      let count = epoch.holders?.count ?? epoch.scheme.shareCount
      let lies = liar.map { epoch.holders?.values.contains($0) ?? true } ?? false
      let faults = (struck[digest] ?? []).union([member]).count + (lies ? 1 : 0)
      let spare = count - epoch.scheme.threshold
      return faults <= (epoch.holders == nil ? spare : min(epoch.scheme.threshold - 1, spare))
    }
  }

  /// The epochs of which enough of these devices have shares, newest first.
  func open(to members: Set<Int>) -> [Epoch] {
    epochs.values.filter { epoch in
      members.count { held[$0]?.contains(epoch.digest) == true } >= epoch.scheme.threshold
    }.sorted { $0.number > $1.number }
  }

  /// What shares open that mustn't: some of each epoch, but fewer than it needs. And whether as many as it needs do.
  func mixtures(_ random: inout SplitMix, _ id: SecretID) throws -> [String] {
    var wrong: [String] = []
    let byEpoch = Dictionary(grouping: shares, by: \.epoch)
    for (digest, all) in byEpoch {
      guard let epoch = epochs[digest] else { continue }
      var some: [UInt8: Stolen] = [:]
      for share in all.shuffled(using: &random) where some.count < epoch.scheme.threshold { some[share.index] = share }
      if some.count == epoch.scheme.threshold, try !opens(Array(some.values), epoch, id) {
        wrong.append("\(some.count) shares of \(epoch.number) don't open it")
      }
      if try opens(Array(some.values.prefix(epoch.scheme.threshold - 1)), epoch, id) {
        wrong.append("fewer shares of \(epoch.number) than it needs open it")
      }
    }
    guard byEpoch.count > 1 else { return wrong }
    for _ in 0..<10 {
      var (some, counts): ([UInt8: Stolen], [Digest: Int]) = ([:], [:])
      for share in shares.shuffled(using: &random) where some[share.index] == nil {
        guard let epoch = epochs[share.epoch], counts[share.epoch, default: 0] < epoch.scheme.threshold - 1 else {
          continue
        }
        counts[share.epoch, default: 0] += 1
        some[share.index] = share
        guard counts.count > 1, try opens(Array(some.values), epoch, id) else { continue }
        wrong.append("shares of \(counts.count) epochs open it together")
      }
    }
    return wrong
  }

  /// Whether these shares together are the key: that which all epochs' first commitment is to.
  private func opens(_ shares: [Stolen], _ epoch: Epoch, _ id: SecretID) throws -> Bool {
    var collector = try ShareCollector(scheme: epoch.scheme, commitments: epoch.commitments)
    for share in shares {
      try collector.add(KeyShare(index: share.index, bytes: SecretBytes(copying: share.bytes.span.bytes)))
    }
    do throws(ShamirError) {
      _ = try collector.rebuiltKey(id, from: shares.map(\.index))
      return true
    } catch { return false }
  }
}
