import Glibc
public import ShamirKit
public import Sodium
public import WireCodec

/// What can go wrong in a group. Carries no keys and no content of the application.
public enum GroupError: Error, Hashable, Sendable {
  /// Bytes from outside aren't what they should be.
  case malformed(WireError)
  /// A signature, a sealed box or a tag doesn't hold. The text names what.
  case forged(String)
  /// Shares or fragments don't fit together.
  case sharing(ShamirError)
  /// The cryptographic library refused: no memory for secrets, for example.
  case sodium(SodiumError)
  /// A value of the caller is refused: too long, out of range, or not there. The text says which and why.
  case invalid(String)
  /// Somebody who isn't in the group, or no longer.
  case unknownMember(NodeID)
  /// A key that this member doesn't have, or no longer.
  case unknownEpoch(UInt32)
  case notOwner
  /// This device is in no group yet.
  case noGroup
  /// This device is in a group already.
  case alreadyInGroup
  /// An invitation, a roster or a key parcel that is older than what is here.
  case outdated
  /// Fewer servers answered than are needed.
  case tooFewServers(answered: Int, needed: Int)
  /// A server refused an owner's call.
  case server(address: String, GroupServerError)
  /// What is kept doesn't open, doesn't parse or doesn't fit together. The text names what.
  case damaged(String)
  /// The database refused; its words.
  case store(String)
  /// Too little of the disk is free for what others send.
  case noRoom
  /// Another process, or another part of this one, has the database at this path.
  case inUse(path: String)
  /// The application's plugin refused; its words.
  case plugin(String)
  /// A file of the user can't be read or written.
  case file(path: String, reason: String)
}

extension GroupError: CustomStringConvertible {
  /// One plain sentence.
  public var description: String {
    switch self {
    case .malformed(let error): "malformed: \(error)"
    case .forged(let what): "\(what) doesn't verify"
    case .sharing(let error): "the shares don't fit together: \(error)"
    case .sodium(let error): "cryptographic library: \(error)"
    case .invalid(let what): what
    case .unknownMember(let node): "\(node) is not a member of the group"
    case .unknownEpoch(let epoch): "there is no key for epoch \(epoch) here"
    case .notOwner: "only the group's owner can do this"
    case .noGroup: "this device is in no group"
    case .alreadyInGroup: "this device is in a group already"
    case .outdated: "it is older than what is here"
    case .tooFewServers(let answered, let needed): "\(answered) servers answered, \(needed) are needed"
    case .server(let address, let error): "\(address): \(error)"
    case .damaged(let what): "\(what) is damaged"
    case .store(let reason): "the group's database: \(reason)"
    case .noRoom: "too little of the disk is free for what others send"
    case .inUse(let path): "\(path) is in use by another process"
    case .plugin(let reason): "the application: \(reason)"
    case .file(let path, let reason): "\(path): \(reason)"
    }
  }
}

/// What the library's errors are called in this module.
func sodium<Result: ~Copyable>(_ body: @autoclosure () throws(SodiumError) -> Result) throws(GroupError) -> Result {
  do throws(SodiumError) { return try body() } catch { throw .sodium(error) }
}

/// What the codec's errors are called in this module.
func wire<Result: ~Copyable>(_ body: @autoclosure () throws(WireError) -> Result) throws(GroupError) -> Result {
  do throws(WireError) { return try body() } catch { throw .malformed(error) }
}

/// What the sharing's errors are called in this module.
func sharing<Result: ~Copyable>(_ body: @autoclosure () throws(ShamirError) -> Result) throws(GroupError) -> Result {
  do throws(ShamirError) { return try body() } catch { throw .sharing(error) }
}

extension GroupError {
  /// The system's last error, at a file.
  static func system(_ path: String) -> GroupError { .file(path: path, reason: String(cString: strerror(errno))) }
}
