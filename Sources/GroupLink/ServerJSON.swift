import Grouper
import Sodium

/// A server's answers, read from where they lie. Members that aren't known are passed over.
enum ServerJSON {
  /// What is wrong with an answer.
  enum Failure: Error {
    case malformed(String)
    case noMemory
  }

  static func receipt(_ bytes: RawSpan) throws(Failure) -> PutReceipt {
    let members = try Members(bytes)
    return PutReceipt(cursor: try members.number("cursor"), expires: try members.number("expires"))
  }

  static func info(_ bytes: RawSpan) throws(Failure) -> ServerGroupInfo {
    let members = try Members(bytes)
    return ServerGroupInfo(
      ttl: Int(try members.number("ttl")), users: members.numbers["users"].flatMap { Int(exactly: $0) },
      shares: try members.number("shares"), bytes: try members.number("bytes"),
      shareQuota: try members.number("quota.shares"), byteQuota: try members.number("quota.bytes"),
      newest: try members.number("newest"), time: try members.number("time"))
  }

  static func createdGroup(_ bytes: RawSpan) throws(Failure) -> CreatedGroup {
    let members = try Members(bytes)
    return CreatedGroup(
      group: try members.id("group"), owner: try members.id("owner"),
      masterKey: try members.key("masterKey", .master), accessKey: try members.key("accessKey", .access),
      ttl: Int(try members.number("ttl")))
  }

  static func addedUser(_ bytes: RawSpan) throws(Failure) -> AddedUser {
    let members = try Members(bytes)
    return AddedUser(user: try members.id("user"), accessKey: try members.key("accessKey", .access))
  }

  static func key(_ bytes: RawSpan, _ kind: ServerKey.Kind) throws(Failure) -> ServerKey {
    let members = try Members(bytes)
    return try members.key(kind == .master ? "masterKey" : "accessKey", kind)
  }

  /// The code of an error's answer, if it is one: a word of letters, digits and `_`.
  static func errorCode(_ bytes: RawSpan) -> String? {
    (try? Members(bytes))?.texts["error"]
  }

  /// A page whose shares stand in order behind `cursor`, and are no more than `limit`.
  static func page(_ bytes: RawSpan, after cursor: UInt64, limit: Int) throws(Failure) -> SharePage {
    do {
      var shares: [ListedShare] = []
      var next: UInt64?
      var hasMore: Bool?
      var scanner = JSONScanner(bytes)
      try scanner.beginObject()
      while let name = try scanner.nextName() {
        switch name {
        case "shares":
          try scanner.beginList()
          while try scanner.nextElement() {
            let share = try Self.share(&scanner)
            guard shares.count < limit, share.cursor > shares.last?.cursor ?? cursor else {
              throw Failure.malformed("its shares are too many, or not in order")
            }
            shares.append(share)
          }
        case "next": next = UInt64(exactly: try scanner.number())
        case "more": hasMore = try scanner.flag()
        default: try scanner.skip()
        }
      }
      try scanner.finish()
      guard let next, let hasMore, next >= shares.last?.cursor ?? cursor else {
        throw Failure.malformed("it doesn't say where the next page begins")
      }
      // Whoever goes on would ask the same for ever.
      guard !hasMore || next > cursor else { throw Failure.malformed("there is more, but nothing comes") }
      return SharePage(shares: shares, next: next, hasMore: hasMore)
    } catch let failure as Failure {
      throw failure
    } catch {
      throw .malformed("it is not the JSON that was expected")
    }
  }

  private static func share(_ scanner: inout JSONScanner) throws -> ListedShare {
    var id: ServerShareID?
    var sender: ServerUserID?
    var cursor: UInt64?
    var expires: UInt64?
    var data: [UInt8]?
    try scanner.beginObject()
    while let name = try scanner.nextName() {
      switch name {
      case "share": id = ServerShareID(hexadecimal: Members.string(try scanner.text(limit: 32)))
      case "sender": sender = ServerUserID(hexadecimal: Members.string(try scanner.text(limit: 32)))
      case "cursor": cursor = UInt64(exactly: try scanner.number())
      case "expires": expires = UInt64(exactly: try scanner.number())
      case "data":
        let text = try scanner.text(limit: (ServerLimits.shareByteLimit / 3 + 1) * 4)
        data = try Base64Text.decodePublic(text)
      default: try scanner.skip()
      }
    }
    guard let id, let sender, let cursor, let expires, let data else {
      throw Failure.malformed("a share lacks something")
    }
    return ListedShare(id: id, cursor: cursor, sender: sender, expires: expires, bytes: data)
  }
}
