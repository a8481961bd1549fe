import Grouper
import WireCodec

/// What a letter that invites says.
struct InvitationLetter: Hashable, Sendable {
  static let byteLimit = 1 + 16 + 2 + Roster.nameByteLimit

  let group: GroupID
  let name: String
}

extension InvitationLetter: WireValue {
  func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(1)
    try group.encode(into: &writer)
    try writer.text16(name)
  }

  init(from reader: inout Reader) throws(WireError) {
    guard try reader.u8("version") == 1 else { throw .invalidValue(field: "version") }
    group = try GroupID(from: &reader)
    name = try reader.text16(limit: Roster.nameByteLimit, "group name")
    guard GroupName.isFit(name) else { throw .invalidValue(field: "group name") }
  }
}

/// What a letter that asks to join says.
struct JoiningLetter: Hashable, Sendable {
  static let byteLimit = 1 + 16 + 2 + JoinRequest.byteLimit

  let group: GroupID
  /// Who wants to join: a ``JoinRequest``'s bytes.
  let request: [UInt8]
}

extension JoiningLetter: WireValue {
  func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(1)
    try group.encode(into: &writer)
    try writer.bytes16(request)
  }

  init(from reader: inout Reader) throws(WireError) {
    guard try reader.u8("version") == 1 else { throw .invalidValue(field: "version") }
    group = try GroupID(from: &reader)
    request = try reader.bytes16(limit: JoinRequest.byteLimit, "join request")
  }
}

/// What a group may be called.
enum GroupName {
  /// One to 64 bytes, nothing that a terminal or a reader could be fooled with.
  static func isFit(_ name: String) -> Bool {
    (1...Roster.nameByteLimit).contains(name.utf8.count)
      && name.unicodeScalars.allSatisfy { scalar in
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        default: true
        }
      }
      && name.contains { !$0.isWhitespace }
  }
}
