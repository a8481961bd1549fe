import Sodium
import VaultStore

/// Shares that can't be served, in words.
enum LostShareText {
  static func sentence(_ share: LostShare) -> String {
    let id = share.secretID.description
    let name = share.description.map { "\(id) (\(Printable.quoted($0)))" } ?? id
    return switch share.reason {
    case .recordsLost:
      "a fragment of secret \(name) is here, but its records are lost and it can't be served; restore a backup, or have the secret shared anew"
    case .recordsDamaged:
      "the records of secret \(name) are lost or damaged, and so is the file that could replace them; restore a backup, or have the secret shared anew"
    case .fragmentLost:
      "the fragment of secret \(name) is lost, and its share can't be served; restore a backup, or have the secret shared anew"
    }
  }
}

/// Items that can't be shown, in words.
enum LostItemText {
  static func sentence(_ item: LostItem) -> String {
    let id = hexadecimal(item.id)
    return switch item.reason {
    case .recordsLost:
      "the file of item \(id) is here, but its records are lost: `vault item import` of that file, in data/items, takes it up again"
    case .fileLost:
      "the file of item \(id) is lost; restore a backup, or have the item sent again"
    }
  }
}

extension LostItem {
  var json: JSONValue { ["id": .string(hexadecimal(id)), "reason": .string(reason.rawValue)] }
}

extension LostShare {
  var json: JSONValue {
    [
      "id": .string(secretID.description), "description": JSONValue(description), "reason": .string(reason.rawValue),
    ]
  }
}
