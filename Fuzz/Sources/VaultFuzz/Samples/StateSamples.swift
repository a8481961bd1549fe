enum StateSamples {
  static func all() -> [Sample] {
    let numbers: [UInt64] = [64 << 20, 128 << 20, 16 << 20, 50, 20]
    let limits: [UInt8] = [1] + numbers.flatMap { bigEndian($0) } + [0]
    let front: [UInt8] = [4] + many(1, 32) + [5, 3, 2] + many(0, 8) + [1] + limits + many(0, 56)
    let none = many(0, 4)
    let record = many(0, 24)
    let half: [UInt8] = [0x3f, 0xe0] + many(0, 6)
    // Before the fourth version parcels had ids alone.
    let formerHeader: [UInt8] =
      many(2, 16) + many(3, 16) + [0, 0, 0, 9] + bigEndian(UInt64(1_700_000_100_000)) + [2, 0, 1]
    let header: [UInt8] = many(2, 16) + many(1, 16) + formerHeader.dropFirst(16)
    func carrying(_ header: [UInt8]) -> [UInt8] {
      [0, 0, 0, 1] + header + many(4, 32) + [0] + many(0, 8) + [0, 0, 0] + bigEndian(UInt64(32_768))
    }
    let carried = carrying(header)
    let strangers: [UInt8] = [0, 0, 0, 1] + many(4, 32)
    // Without how often it has gone out to its carrier, and whether that has it, which the second version lacks.
    func sent(_ header: [UInt8]) -> [UInt8] {
      [0, 0, 0, 1] + header + many(5, 32) + many(0, 8) + [1] + many(6, 40) + [0]
    }
    let second = sent(formerHeader.with(45, [5]))
    let own: [UInt8] = sent(header.with(61, [5])).without(last: 1) + [2, 1, 0]
    let receipt: [UInt8] =
      [0, 0, 0, 1] + many(8, 16) + [1] + bigEndian(UInt64(1_700_000_100_000)) + [2, 9, 9] + many(4, 40)
    let met: [UInt8] = [0, 0, 0, 1] + many(4, 32) + half + many(0, 8) + [1] + many(0, 8)
    let carrier: [UInt8] = [0, 0, 0, 1] + many(4, 32) + half + half + many(0, 8)
    let seen: [UInt8] = [0, 0, 0, 1] + many(8, 16) + bigEndian(UInt64(1_700_000_100_000))
    let seenCopy: [UInt8] = [0, 0, 0, 1] + many(8, 32) + bigEndian(UInt64(1_700_000_100_000))
    let fresh: [UInt8] = front + none + none + none + none + none + none + record + none + none
    let known: [UInt8] = receipt + met + carrier + record
    let rest: [UInt8] = known + seenCopy + seen
    let former: [UInt8] = carrying(formerHeader) + strangers
    let full: [UInt8] = front + carried + strangers + own + rest
    let formerRest: [UInt8] = known + seen + seen
    let formerOwn: [UInt8] = second.without(last: 1) + [2, 1, 0]
    let older: [UInt8] = [2] + (front + former + second + formerRest).dropFirst()
    let third: [UInt8] = [3] + (front + former + formerOwn + formerRest).dropFirst()
    let times = full.count - rest.count - 3
    let message: [UInt8] =
      [1] + many(0, 7) + [3] + many(1, 16) + [1] + many(7, 32) + [0, 0, 2, 1, 1, 0, 0] + many(0, 7) + [5]
      + [0, 1, 0, 1, 0] + many(0, 32) + [0, 0, 1, 0, 15] + many(0, 8) + [7]
    let parcel: [UInt8] =
      [1] + many(1, 16) + [4, 1] + many(7, 32) + [0, 0, 0] + many(0, 24) + [0] + many(0, 16) + [1] + many(2, 32)
      + [1] + many(3, 16) + [15] + many(0, 8) + [0, 0]
    let account: [UInt8] =
      [1] + many(1, 16) + Array("a@b".utf8).counted + [0, 0, 0] + Array("r".utf8).counted + [1, 0]
    let friend: [UInt8] = [1] + many(1, 16) + Array("a@b".utf8).counted + [0, 3, 0, 0, 0] + many(0, 8)
    let meeting: [UInt8] = [1] + many(7, 32) + many(0, 16) + [0, 1, 1] + many(0, 28) + many(0, 20)
    return Sample.of(
      "courier-state",
      [
        "valid-fresh": fresh, "valid-full": full, "empty": [], "unknown-version": [5] + fresh.dropFirst(),
        "valid-older": [1] + fresh.dropFirst(), "older-with-parcels": [1] + full.dropFirst(),
        "valid-second": older, "valid-third": third, "third-with-copies": [3] + full.dropFirst(),
        "valid-without-name": full.with(front.count + 20, many(0, 16)), "second-with-times": [2] + full.dropFirst(),
        "never-gone-out": full.with(times, [0]), "gone-out-too-often": full.with(times, [5]),
        "confirmed-of-two": full.with(times + 1, [2]),
        "trailing-byte": fresh + [0], "truncated": full.without(last: 1),
        "huge-count": front + [0xff, 0xff, 0xff, 0xff],
        "nine-hops": fresh.with(34, [9]), "parcel-of-nobody": front + carried + none,
        "servers-of-two": front + carried.with(66, [2]) + strangers,
        "itself-met": front + none + none + none + none + met.with(4, many(1, 32)) + none + record + none + none,
        "sure-to-meet": front + none + none + none + none + met.with(36, [0x3f, 0xf0]) + none + record + none + none,
        "no-number": front + none + none + none + none + met.with(36, [0x7f, 0xf8]) + none + record + none + none,
      ])
      + Sample.of(
        "message-row",
        [
          "valid-text": message, "empty": [], "truncated": message.without(last: 1), "trailing-byte": message + [0],
          "unknown-version": message.with(0, [2]), "sent-but-new": message.with(60, [1]),
          "unknown-state": message.with(message.count - 1, [9]), "no-parts": message.with(73, [0, 0]),
        ])
      + Sample.of(
        "parcel-row",
        [
          "valid-message": parcel, "empty": [], "truncated": parcel.without(last: 1), "trailing-byte": parcel + [0],
          "unknown-direction": parcel.with(17, [7]), "unknown-way": parcel.with(parcel.count - 11, [16]),
        ])
      + Sample.of(
        "account-row",
        [
          "valid-smallest": account, "empty": [], "trailing-byte": account + [0],
          "huge-address": account.with(17, [0xff, 0xff]), "flag-of-two": account.with(account.count - 2, [2]),
        ])
      + Sample.of(
        "friend-row",
        [
          "valid-smallest": friend, "empty": [], "trailing-byte": friend + [0],
          "unknown-subscription": friend.with(23, [5]), "presence-too-long": friend.with(friend.count - 9, [1, 0, 33]),
        ])
      + Sample.of(
        "meeting-row",
        [
          "valid-smallest": meeting, "empty": [], "truncated": meeting.without(last: 1),
          "trailing-byte": meeting + [0], "unknown-version": meeting.with(0, [2]),
          "unknown-ending": meeting.with(51, [6]), "flag-of-two": meeting.with(49, [2]),
        ])
  }
}
