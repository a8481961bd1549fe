@testable import ShareServer
import Sodium

/// What a request to the service for groups brings in its head.
enum ServerTargets {
  static let all = [
    FuzzTarget("server-path", upTo: 1024) { bytes in
      guard let route = Route(path: String(decoding: bytes, as: UTF8.self)) else { return false }
      require(!route.methods.isEmpty, "what there is has a method")
      if let group = route.group { require(Identifier(group.description) == group, "an id is written as it is read") }
      return true
    },
    FuzzTarget("server-query", upTo: 4096) { bytes in
      let query = try Query(String(decoding: bytes, as: UTF8.self))
      for name in ["after", "limit", "wait"] {
        require((3...500).contains(try query.number(name, 3...500, standard: 7)), "a number is within its range")
      }
      return true
    },
    FuzzTarget("server-recipients", upTo: 16_384) { bytes in
      let found = try RecipientsField.parse([String(decoding: bytes, as: UTF8.self)])
      guard let found else { violated("a field that is there is not for everybody") }
      require((1...ServerLimits.recipients).contains(found.count), "there are some recipients, and not too many")
      require(Set(found).count == found.count, "nobody is named twice")
      let again = found.map(\.description).joined(separator: ",")
      require(try RecipientsField.parse([again]) == found, "recipients are read as they are written")
      return true
    },
    FuzzTarget("server-key", upTo: 1024) { bytes in
      var key: ServerKey?
      try bytes.withUnsafeBytes { key = try ServerKey.parse(authorization: $0) }
      switch key.take() {
      case .some(let key):
        let text = exposed(try key.text())
        require(bytes.suffix(text.count) == text[...], "a key is written as it was read")
        return true
      case .none: return false
      }
    },
  ]
}
