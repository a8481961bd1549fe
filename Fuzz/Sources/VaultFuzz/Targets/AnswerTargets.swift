@testable import GroupLink
import Grouper

/// What a share server answers to a member.
enum AnswerTargets {
  static let all = [
    FuzzTarget("answer-page", upTo: 65_536) { bytes in
      let page = try ServerJSON.page(bytes.span.bytes, after: 3, limit: 20)
      require(page.shares.count <= 20, "no more shares than were asked for")
      var last: UInt64 = 3
      for share in page.shares {
        require(share.cursor > last, "shares are in order, behind the cursor")
        last = share.cursor
      }
      require(page.next >= last && (!page.hasMore || page.next > 3), "the next page begins behind this one")
      return true
    },
    FuzzTarget("answer-receipt", upTo: 4096) { bytes in
      let receipt = try ServerJSON.receipt(bytes.span.bytes)
      require(receipt.cursor < 1_000_000_000_000_000_000, "a number has at most 18 digits")
      return true
    },
    FuzzTarget("answer-info", upTo: 4096) { bytes in
      let info = try ServerJSON.info(bytes.span.bytes)
      require(info.ttl >= 0, "a time to live is no less than nothing")
      return true
    },
    FuzzTarget("answer-group", upTo: 4096) { bytes in
      let made = try ServerJSON.createdGroup(bytes.span.bytes)
      require(made.masterKey.kind == .master && made.accessKey.kind == .access, "keys are what they are for")
      return true
    },
    FuzzTarget("answer-user", upTo: 4096) { bytes in
      let added = try ServerJSON.addedUser(bytes.span.bytes)
      let key = try ServerJSON.key(bytes.span.bytes, .access)
      require(added.accessKey.secret.matches(key.secret), "a key is the same however it is read")
      return true
    },
    FuzzTarget("answer-error", upTo: 4096) { bytes in
      guard let code = ServerJSON.errorCode(bytes.span.bytes) else { return false }
      require(
        code.utf8.count <= 64 && code.allSatisfy { $0.isASCII && ($0.isLowercase || $0.isNumber || $0 == "_") },
        "a code can be shown")
      return true
    },
  ]
}
