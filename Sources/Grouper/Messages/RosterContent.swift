/// Content of *roster*: a newer roster of the same epoch, or an invitation into a new one.
enum RosterContent: Hashable, Sendable {
  case roster(SignedRoster)
  case invitation(Invitation)

  func encoded() -> [UInt8] {
    switch self {
    case .roster(let roster): [1] + roster.bytes
    case .invitation(let invitation): [2] + invitation.bytes
    }
  }

  init(_ bytes: [UInt8], group: GroupID) throws(GroupError) {
    switch bytes.first {
    case 1: self = .roster(try SignedRoster(Array(bytes.dropFirst()), group: group))
    case 2: self = .invitation(try Invitation(Array(bytes.dropFirst())))
    default: throw .malformed(.invalidValue(field: "roster content"))
    }
  }
}
