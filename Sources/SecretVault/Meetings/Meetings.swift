import Sodium
import VaultStore

/// Meetings: two devices in touch give one another what each has for the other, and what each may carry for others.
package final class Meetings: Room {
  package let core: VaultCore
  let directory: Directory
  let links: Links
  let carrying: Carrying
  let post: Post
  let intake: Intake

  init(
    _ core: VaultCore, _ directory: Directory, _ links: Links, _ carrying: Carrying, _ post: Post, _ intake: Intake
  ) {
    self.core = core
    self.directory = directory
    self.links = links
    self.carrying = carrying
    self.post = post
    self.intake = intake
  }

  package func meet(_ reference: String) async throws -> MeetingReport {
    let peer = try directory.find(reference)
    do { return try await meet(peer) } catch { throw VaultError(error, peer: peer.name) }
  }

  /// Meets a peer within `limit`, so that it gets what waits for it. Returns why it wasn't met, if that is known: it is tried again.
  @discardableResult
  package func deliverMessages(to reference: String, limit: Duration) async -> LinkFailure? {
    guard let peer = try? directory.find(reference) else { return nil }
    let sleep = environment.sleep
    return await withTaskGroup(of: LinkFailure?.self) { group in
      group.addTask { [self] in await meetOnceFree(peer) }
      group.addTask {
        try? await sleep(limit)
        return nil
      }
      let first = await group.next()
      group.cancelAll()
      return first.flatMap { $0 }
    }
  }

  /// If the daemon or the peer has begun a meeting, waits for its end, and then meets the peer if something is left for it.
  private func meetOnceFree(_ peer: PeerRecord) async -> LinkFailure? {
    var pause = Self.busyPause
    while !Task.isCancelled {
      do {
        _ = try await meet(peer)
        return nil
      } catch { guard error.refusal == .busy else { return error } }
      do { try await environment.sleep(pause) } catch { return nil }
      // It may be this device that is to wait.
      pause = min(pause * 2, Self.longestBusyPause)
      let left = try? post.outgoingRecords(way: .session, at: environment.now())
      guard left?.contains(where: { $0.peer == peer.digest }) == true else { return nil }
    }
    return nil
  }

  private static let busyPause = Duration.milliseconds(300)
  private static let longestBusyPause = Duration.seconds(3)

  /// What is too large for Bluetooth goes by network; if that doesn't lead to the peer, the rest goes over Bluetooth.
  func meet(_ peer: PeerRecord) async throws(LinkFailure) -> MeetingReport {
    guard let place = carrying.memory.begin(with: peer.digest, isDialling: true) else {
      throw LinkFailure(.refused, "is being met already", refusal: .busy)
    }
    defer { withExtendedLifetime(place) {} }
    let recipient: Recipient
    let largest: UInt64
    do {
      recipient = try directory.recipient(peer)
      largest = recipient.nearby == nil ? 0 : try largestParcel(to: peer.digest)
    } catch { throw LinkFailure(local: error) }
    guard let nearby = recipient.nearby, largest > nearby.byteLimit, !recipient.addresses.isEmpty else {
      return try await meet(peer, recipient, byteCount: 0)
    }
    do { return try await meet(peer, recipient, byteCount: largest) } catch {
      guard error.kind == .unreachable else { throw error }
      return try await meet(peer, recipient, byteCount: 0)
    }
  }

  private func meet(
    _ peer: PeerRecord, _ recipient: Recipient, byteCount: UInt64
  ) async throws(LinkFailure) -> MeetingReport {
    let asker = MeetingAsker(
      begin: { [self] in try CourierDesk(self, meeting: peer, isNearby: $0) }, byteCount: byteCount)
    let report = try await links.ask(asker, of: recipient)
    finishedMeeting(with: peer, report)
    return report
  }

  func finishedMeeting(with peer: PeerRecord, _ report: MeetingReport) {
    carrying.memory.noteMet(peer.digest, at: environment.monotonic(), hasChanged: !report.isEmpty)
    guard !report.isEmpty, core.mayWrite(of: peer) else { return }
    environment.log.info("met \(peer.name): \(report.words)")
  }

  /// Bytes of the largest parcel that waits for a peer.
  private func largestParcel(to peer: Digest) throws -> UInt64 {
    let byteCounts = try database.parcelByteCounts()
    let waiting = try post.outgoingRecords(way: .session, at: environment.now()).filter { $0.peer == peer }
    return waiting.map { UInt64(clamping: byteCounts[$0.id] ?? 0) }.max() ?? 0
  }
}
